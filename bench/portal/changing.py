"""How soon a change of a job is on the screen of a page that is open."""

import time
from collections.abc import Iterator

from playwright.sync_api import Browser, Page

from bench.measuring import percentile
from bench.portal.answers import Answer
from bench.portal.watching import PATIENCE_MS
from tests.parts.pretend_cluster.seeding import call, submit
from tests.parts.server import MusterServer
from tests.portal.reading import reader

CHANGES = 20
_SHOWN_AT = """
(words) => new Promise((resolve) => {
  const isShown = () => document.querySelector("main")?.innerText.includes(words);
  const look = () => (isShown() ? resolve(Date.now()) : requestAnimationFrame(look));
  look();
})
"""


def changing(browser: Browser, server: MusterServer) -> Iterator[Answer]:
    """From the moment when the server has noted a change to the frame that shows it."""
    delays = []
    with reader(browser, server.url, server.token) as window:
        for number in range(CHANGES):
            job = submit(server, server.token, {"name": f"changes-{number}", "command": "true", "hold": True})
            page = window.open(f"/jobs/{job['id']}")
            page.get_by_role("button", name="Stop").wait_for(timeout=PATIENCE_MS)
            page.get_by_text("live", exact=True).wait_for(timeout=PATIENCE_MS)
            delays.append(_delay(page, server, job["id"]))
    slow = percentile(delays, 95)
    note = f"p50 {percentile(delays, 50):.2f} s, slowest {max(delays):.2f} s"
    yield Answer(f"change of a job on the screen, p95 of {CHANGES}", f"{slow:.2f} s", "at most 1 s", slow <= 1.0, note)


def _delay(page: Page, server: MusterServer, job: str) -> float:
    began = time.time()
    call(server, "POST", f"/jobs/{job}/kill", {"grace": "0s"})
    return float(page.evaluate(_SHOWN_AT, "Cancelled")) / 1000 - began
