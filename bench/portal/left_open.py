"""Pages that are left open for an hour while the cluster is busy: whether they grow.

The hour can be made shorter. Pages grow at first, while lists and curves fill, and then no more or steadily: what they
would have grown by in an hour is what they have, and the rest of the hour at the pace of the second half.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import linear_regression

from playwright.sync_api import Browser, Page

from bench.portal.answers import Answer
from bench.portal.watching import Spent, elements, heap_bytes, spent
from tests.parts.pretend_cluster.seeding import submit
from tests.parts.server import MusterServer
from tests.portal.reading import reader

HOUR_MINUTES = 60.0
LOOKS = 20
SETTLED_MS = 5_000
MOST_MB = 50
MOST_ELEMENTS = 2_000
JOB_EVERY_S = 1.0
JOB_LASTS_S = 5


@dataclass
class Seen:
    """What one page held, over the minutes."""

    minutes: list[float] = field(default_factory=list)
    heap_mb: list[float] = field(default_factory=list)
    elements: list[int] = field(default_factory=list)

    def note(self, page: Page, minutes: float) -> None:
        self.minutes.append(minutes)
        self.heap_mb.append(heap_bytes(page) / 1e6)
        self.elements.append(elements(page))

    @property
    def more_elements(self) -> int:
        return self.elements[-1] - self.elements[0]

    def grown_mb(self) -> float:
        return self.heap_mb[-1] - self.heap_mb[0]

    def grown_in_an_hour_mb(self) -> float:
        left = max(0.0, HOUR_MINUTES - self.minutes[-1])
        return self.grown_mb() + left * max(0.0, slope(self.minutes, self.heap_mb))


def slope(minutes: Sequence[float], heap_mb: Sequence[float]) -> float:
    """Megabytes per minute in the second half."""
    half = len(minutes) // 2
    return float(linear_regression(minutes[half:], heap_mb[half:]).slope)


def left_open(browser: Browser, server: MusterServer, minutes: float) -> Iterator[Answer]:
    spec = {"name": "prints", "cluster": "lab", "command": "true", "env": {"PRETEND_S": "36000"}}
    printing = submit(server, server.token, {**spec, "resources": {"cpu": 1}})
    paths = {"list of jobs": "/jobs", "log": f"/jobs/{printing['id']}?tab=logs", "heat map": "/cluster"}
    with ExitStack() as stack:
        pages = {
            name: stack.enter_context(reader(browser, server.url, server.token)).open(path)
            for name, path in paths.items()
        }
        costs = {name: stack.enter_context(spent(page, server)) for name, page in pages.items()}
        seen, jobs = _leave(pages, server, minutes)
    for name, cost in costs.items():
        yield _answer(name, seen[name], cost, jobs)


def _leave(pages: Mapping[str, Page], server: MusterServer, minutes: float) -> tuple[Mapping[str, Seen], int]:
    """Leaves the pages open while jobs come and go. Returns what was seen of each, and how many jobs came."""
    seen = {name: Seen() for name in pages}
    first = next(iter(pages.values()))
    first.wait_for_timeout(SETTLED_MS)
    jobs, began, looks = 0, time.monotonic(), 0
    while looks <= LOOKS:
        passed = (time.monotonic() - began) / 60
        if passed >= looks * minutes / LOOKS:
            looks += 1
            for name, page in pages.items():
                seen[name].note(page, (time.monotonic() - began) / 60)
        jobs += 1
        busy = {"name": f"busy-{jobs}", "cluster": "lab", "command": "true", "env": {"PRETEND_S": f"{JOB_LASTS_S}"}}
        submit(server, server.token, busy)
        first.wait_for_timeout(1000 * JOB_EVERY_S)
    return seen, jobs


def _answer(name: str, seen: Seen, cost: Spent, jobs: int) -> Answer:
    minutes, grown = seen.minutes[-1], seen.grown_in_an_hour_mb()
    is_met = grown <= MOST_MB and seen.more_elements <= MOST_ELEMENTS
    told = f"{seen.heap_mb[0]:.1f} MB at first, {seen.heap_mb[-1]:.1f} MB after {minutes:.1f} min and {jobs} new jobs"
    steady = f"{slope(seen.minutes, seen.heap_mb):+.2f} MB per minute in the second half"
    more = f"{seen.more_elements:+d} elements; {cost.page_cpu_s / cost.seconds:.1%} of a core in the page"
    return Answer(
        f"open {name}: grown in an hour",
        f"{grown:.1f} MB",
        f"at most {MOST_MB} MB",
        is_met,
        f"{told}; {steady}; {more}",
    )
