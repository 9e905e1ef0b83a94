"""The first page: how large it is, and how soon it is there."""

from collections.abc import Iterator

from playwright.sync_api import Browser

from bench.portal.answers import Answer
from bench.portal.watching import PATIENCE_MS, Spent, spent
from tests.parts.server import MusterServer
from tests.portal.reading import ROOT, reader

BUILT = ROOT / "src" / "muster" / "server" / "portal"
MOST_BYTES = 400_000
TRIES = 5


def opening(browser: Browser, server: MusterServer) -> Iterator[Answer]:
    yield _size()
    yield _loading(browser, server)


def _size() -> Answer:
    index = (BUILT / "index.html").read_text()
    names = {part.split('"')[0] for part in index.split("/portal/")[1:]}
    bytes_ = sum((BUILT / f"{name}.gz").stat().st_size for name in names if (BUILT / f"{name}.gz").exists())
    return Answer("first page, gzipped", f"{bytes_ / 1000:.0f} kB", "at most 400 kB", bytes_ <= MOST_BYTES)


def _loading(browser: Browser, server: MusterServer) -> Answer:
    """From the address typed into a browser without a cache to the first rows of jobs, which can be clicked."""
    tries = [_load(browser, server) for _ in range(TRIES)]
    best = min(tries, key=lambda each: each.seconds)
    question = f"cold load to the list of jobs, the best of {TRIES}"
    return Answer(question, f"{best.seconds:.2f} s", "at most 1 s", best.seconds <= 1.0, str(best))


def _load(browser: Browser, server: MusterServer) -> Spent:
    with reader(browser, server.url, server.token) as window:
        with spent(window.page, server) as measured:
            page = window.open("/jobs")
            page.get_by_role("link", name="resnet50").first.click(trial=True, timeout=PATIENCE_MS)
        return measured
