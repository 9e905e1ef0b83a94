"""A very long log opens at once, on a page that is open and in a tab that knows nothing."""

from collections.abc import Iterator

from playwright.sync_api import Browser

from bench.portal.answers import Answer
from bench.portal.watching import PATIENCE_MS, Spent, spent
from tests.parts.pretend_cluster.seeding import submit
from tests.parts.server import MusterServer
from tests.portal.reading import reader

TRIES = 3
ENDS_WITHIN_S = 600.0


def long_logs(browser: Browser, server: MusterServer, lines: int) -> Iterator[Answer]:
    job = _printed(server, lines)
    warm = min((_open_tab(browser, server, job, lines) for _ in range(TRIES)), key=lambda each: each.seconds)
    yield _answer(f"log of {lines:,} lines until its end is shown, best of {TRIES}", warm)
    cold = min((_open_cold(browser, server, job, lines) for _ in range(TRIES)), key=lambda each: each.seconds)
    yield _answer(f"log of {lines:,} lines in a cold tab, best of {TRIES}", cold)


def _answer(question: str, best: Spent) -> Answer:
    return Answer(question, f"{best.seconds:.2f} s", "at most 1 s", best.seconds <= 1.0, str(best))


def _open_tab(browser: Browser, server: MusterServer, job: str, lines: int) -> Spent:
    """On the page of the job, from the click on its logs to the last line."""
    with reader(browser, server.url, server.token) as window:
        page = window.open(f"/jobs/{job}")
        page.get_by_role("heading", level=1, name="long").wait_for(timeout=PATIENCE_MS)
        with spent(page, server) as measured:
            page.get_by_role("tab", name="Logs").click()
            page.get_by_text(f"line {lines} of a long training").first.wait_for(timeout=PATIENCE_MS)
        return measured


def _open_cold(browser: Browser, server: MusterServer, job: str, lines: int) -> Spent:
    """From the address of the log in a browser without a cache to its last line."""
    with reader(browser, server.url, server.token) as window:
        with spent(window.page, server) as measured:
            page = window.open(f"/jobs/{job}?tab=logs")
            page.get_by_text(f"line {lines} of a long training").first.wait_for(timeout=PATIENCE_MS)
        return measured


def _printed(server: MusterServer, lines: int) -> str:
    """A job that has printed so many lines, and ended."""
    spec = {"name": "long", "cluster": "local", "command": f"seq -f 'line %.0f of a long training' {lines}"}
    job = str(submit(server, server.token, spec)["id"])
    server.wait(job, ENDS_WITHIN_S)
    return job
