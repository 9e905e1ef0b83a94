"""All GPUs of a very large cluster on one page."""

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page

from bench.portal.answers import Answer
from bench.portal.watching import PATIENCE_MS, Spent, spent
from tests.parts.pretend_cluster.backend import GPUS
from tests.parts.pretend_cluster.seeding import submit
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer
from tests.portal.reading import reader

TRIES = 5
BUSY_EVERY = 2
"""Of so many nodes, one has a job on all its GPUs."""
OPEN_S = 10.0
_DRAWN = """
(cells) => new Promise((resolve) => {
  const areThere = () => document.querySelectorAll("main li a [data-letter]").length >= cells;
  const look = () => requestAnimationFrame(() => (areThere() ? requestAnimationFrame(resolve) : look()));
  look();
})
"""
"""Resolves in the frame after the one that draws the last cell."""


def heat_map(browser: Browser, folder: Path, nodes: int) -> Iterator[Answer]:
    files = {"lab": f"name: lab\nbackend: pretend\nsize: {nodes}\n"}
    with running_pretend_server(folder / "many-nodes", files=files) as server:
        busy = {"replicas": nodes // BUSY_EVERY, "command": "python train.py", "resources": {"gpu": GPUS}}
        spec = {"name": "busy", "cluster": "lab", "env": {"PRETEND_S": "36000"}, "roles": {"worker": busy}}
        server.wait_for_state(submit(server, server.token, spec)["id"], "Running")
        tries = [_draw(browser, server, nodes * GPUS) for _ in range(TRIES)]
        best = min(tries, key=lambda each: each.seconds)
        question = f"heat map of {nodes:,} x {GPUS} GPUs, from the click, best of {TRIES}"
        yield Answer(question, f"{best.seconds:.2f} s", "at most 1 s", best.seconds <= 1.0, str(best))
        yield _left_open(browser, server, nodes * GPUS)


def _draw(browser: Browser, server: MusterServer, cells: int) -> Spent:
    """From the click on the page's name, on another page, to the last cell."""
    with reader(browser, server.url, server.token) as window:
        page = window.open("/profile")
        page.get_by_role("heading", level=1, name="Profile").wait_for(timeout=PATIENCE_MS)
        with spent(page, server) as measured:
            _open_map(page, cells)
        return measured


def _open_map(page: Page, cells: int) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Cluster", exact=True).click()
    page.evaluate(_DRAWN, cells)


def _left_open(browser: Browser, server: MusterServer, cells: int) -> Answer:
    """While half of the cells change every few seconds."""
    with reader(browser, server.url, server.token) as window:
        page = window.open("/profile")
        page.get_by_role("heading", level=1, name="Profile").wait_for(timeout=PATIENCE_MS)
        _open_map(page, cells)
        with spent(page, server) as measured:
            page.wait_for_timeout(1000 * OPEN_S)
    share = measured.page_cpu_s / measured.seconds
    note = f"the server {measured.server_cpu_s / measured.seconds:.0%} of a core, which also pretends the cluster"
    return Answer("open heat map, live: CPU of the page", f"{share:.0%}", "at most 50 %", share <= 0.5, note)
