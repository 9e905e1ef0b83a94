"""A list of very many jobs is scrolled without stutter."""

from collections.abc import Iterator

from playwright.sync_api import Browser

from bench.measuring import percentile
from bench.portal.answers import Answer
from bench.portal.watching import PATIENCE_MS, spent
from tests.parts.pretend_cluster.seeding import call
from tests.parts.server import MusterServer
from tests.portal.reading import reader

BULK = 500
FRAMES = 120
MOST_MS = 50
_SCROLL = """
async (frames) => {
  const box = [...document.querySelectorAll("*")]
    .filter((element) => element.scrollHeight > element.clientHeight + 1000)
    .sort((a, b) => b.scrollHeight - a.scrollHeight)[0];
  if (!box) return [];
  const gaps = [];
  let last = performance.now();
  for (let step = 0; step < frames; step += 1) {
    box.scrollTop += 400;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}
"""


def scrolling(browser: Browser, server: MusterServer, jobs: int) -> Iterator[Answer]:
    _submit_many(server, jobs)
    with reader(browser, server.url, server.token) as window:
        page = window.open("/jobs")
        page.get_by_role("link", name="many-").first.wait_for(timeout=PATIENCE_MS)
        with spent(page, server) as measured:
            gaps = [float(gap) for gap in page.evaluate(_SCROLL, FRAMES)]
    slow = percentile(gaps, 95) if gaps else float("inf")
    question = f"frames while {jobs:,} jobs scroll, p95"
    note = f"{1000 * measured.page_cpu_s / FRAMES:.1f} ms of CPU in the page for each frame"
    yield Answer(question, f"{slow:.0f} ms", f"at most {MOST_MS} ms", slow <= MOST_MS, note)


def _submit_many(server: MusterServer, count: int) -> None:
    held = {"cluster": "lab", "command": "true", "hold": True}
    for first in range(0, count, BULK):
        specs = [{**held, "name": f"many-{first + number:05d}"} for number in range(min(BULK, count - first))]
        call(server, "POST", "/jobs:bulk", {"jobs": [{"spec": spec} for spec in specs]})
