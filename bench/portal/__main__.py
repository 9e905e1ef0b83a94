"""Size, loading, long lists, long logs, and the memory of a page left open, in a real Chromium.

    python -m bench.portal [--minutes N] [--jobs N] [--lines N]

The server has a pretended cluster of 40 nodes that is busy all the time. Prints one line per question with its bar.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.parts.pretend_cluster.seeding import call, seed, submit
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer
from tests.portal.reading import ROOT, chromium, missing_parts, reader

BUILT = ROOT / "src" / "muster" / "server" / "portal"
BULK = 500
PATIENCE_MS = 120_000
MOST_NEW_ELEMENTS = 2_000
_FRAMES = """
async () => {
  const box = [...document.querySelectorAll("*")]
    .filter((element) => element.scrollHeight > element.clientHeight + 1000)
    .sort((a, b) => b.scrollHeight - a.scrollHeight)[0];
  if (!box) return [];
  const gaps = [];
  let last = performance.now();
  for (let step = 0; step < 120; step += 1) {
    box.scrollTop += 400;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}
"""


@dataclass(frozen=True)
class Answer:
    question: str
    figure: str
    bar: str
    is_met: bool

    def __str__(self) -> str:
        return f"{self.question:<58} {self.figure:>14}   {self.bar:<18} {'met' if self.is_met else 'MISSED'}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.portal")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long the page is left open")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    asked = parser.parse_args(arguments)
    if why := missing_parts():
        print(why, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        home = Path(folder) / "home"
        with running_pretend_server(home) as server, chromium() as browser:
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
            seed(server, seconds=3600)
            print(_size(), flush=True)
            print(_loading(browser, server), flush=True)
            _submit_many(server, asked.jobs)
            print(_scrolling(browser, server, asked.jobs), flush=True)
            job = _printed(server, asked.lines)
            print(_long_log(browser, server, job, asked.lines), flush=True)
            print(_cold_log(browser, server, job, asked.lines), flush=True)
            print(_memory(browser, server, asked.minutes), flush=True)
    return 0


def _size() -> Answer:
    index = (BUILT / "index.html").read_text()
    names = {part.split('"')[0] for part in index.split("/portal/")[1:]}
    bytes_ = sum((BUILT / f"{name}.gz").stat().st_size for name in names if (BUILT / f"{name}.gz").exists())
    return Answer("first page, gzipped", f"{bytes_ / 1000:.0f} kB", "at most 400 kB", bytes_ <= 400_000)


def _loading(browser: Browser, server: MusterServer) -> Answer:
    """From the address typed into a browser without a cache to the first rows of jobs; the best of five."""
    taken = []
    for _ in range(5):
        with reader(browser, server.url, server.token) as window:
            began = time.monotonic()
            page = window.open("/jobs")
            page.get_by_role("link", name="resnet50").first.wait_for(timeout=PATIENCE_MS)
            taken.append(time.monotonic() - began)
    return Answer("cold load to the list of jobs", f"{min(taken):.2f} s", "at most 1 s", min(taken) <= 1.0)


def _submit_many(server: MusterServer, count: int) -> None:
    held = {"cluster": "lab", "command": "true", "hold": True}
    for first in range(0, count, BULK):
        specs = [{**held, "name": f"many-{first + number:05d}"} for number in range(min(BULK, count - first))]
        call(server, "POST", "/jobs:bulk", {"jobs": [{"spec": spec} for spec in specs]})


def _scrolling(browser: Browser, server: MusterServer, jobs: int) -> Answer:
    with reader(browser, server.url, server.token) as window:
        page = window.open("/jobs")
        page.get_by_role("link", name="many-").first.wait_for(timeout=PATIENCE_MS)
        gaps = sorted(float(gap) for gap in page.evaluate(_FRAMES))
    slow = gaps[int(len(gaps) * 0.95)] if gaps else float("inf")
    return Answer(f"frames while {jobs:,} jobs scroll, p95", f"{slow:.0f} ms", "at most 50 ms", slow <= 50)


def _printed(server: MusterServer, lines: int) -> str:
    """A job that has printed so many lines, and ended."""
    spec = {"name": "long", "cluster": "local", "command": f"seq -f 'line %.0f of a long training' {lines}"}
    job = str(submit(server, server.token, spec)["id"])
    _until_ended(server, job)
    return job


def _long_log(browser: Browser, server: MusterServer, job: str, lines: int) -> Answer:
    with reader(browser, server.url, server.token) as window:
        page = window.open(f"/jobs/{job}")
        page.get_by_role("heading", level=1, name="long").wait_for(timeout=PATIENCE_MS)
        began = time.monotonic()
        page.evaluate(f"window.location.hash = '#/jobs/{job}?tab=logs'")
        page.get_by_text(f"line {lines} of a long training").first.wait_for(timeout=PATIENCE_MS)
        taken = time.monotonic() - began
    return Answer(f"log of {lines:,} lines until its end is shown", f"{taken:.2f} s", "at most 1 s", taken <= 1.0)


def _cold_log(browser: Browser, server: MusterServer, job: str, lines: int) -> Answer:
    """From the address of the log in a browser without a cache to its last line; the best of three."""
    taken = []
    for _ in range(3):
        with reader(browser, server.url, server.token) as window:
            began = time.monotonic()
            page = window.open(f"/jobs/{job}?tab=logs")
            page.get_by_text(f"line {lines} of a long training").first.wait_for(timeout=PATIENCE_MS)
            taken.append(time.monotonic() - began)
    return Answer(f"log of {lines:,} lines in a cold tab", f"{min(taken):.2f} s", "at most 1 s", min(taken) <= 1.0)


def _memory(browser: Browser, server: MusterServer, minutes: float) -> Answer:
    """A list left open while jobs come and go every second: how much the page has grown since its first minute."""
    with reader(browser, server.url, server.token) as window:
        page = window.open("/jobs")
        page.wait_for_timeout(5_000)
        first = _heap(page)
        nodes = _elements(page)
        deadline = time.monotonic() + minutes * 60
        number = 0
        while time.monotonic() < deadline:
            number += 1
            busy = {"name": f"busy-{number}", "cluster": "lab", "command": "true", "env": {"PRETEND_S": "5"}}
            submit(server, server.token, busy)
            page.wait_for_timeout(1_000)
        last = _heap(page)
        more_nodes = _elements(page) - nodes
    grown = (last - first) / 1e6
    if more_nodes > MOST_NEW_ELEMENTS:
        return Answer("elements added to an open page", f"{more_nodes}", f"at most {MOST_NEW_ELEMENTS}", is_met=False)
    question = f"memory grown in {minutes:g} min, {number} new jobs ({first / 1e6:.0f} MB at first)"
    return Answer(question, f"{grown:.0f} MB", "at most 50 MB", grown <= 50)


def _elements(page: Page) -> int:
    return int(page.evaluate("document.querySelectorAll('*').length"))


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Runtime.getHeapUsage")
    session.detach()
    return float(json.loads(json.dumps(metrics))["usedSize"])


def _until_ended(server: MusterServer, job: str) -> None:
    deadline = time.monotonic() + 300
    while call(server, "GET", f"/jobs/{job}/wait?timeout=30")["state"] not in ("Succeeded", "Failed"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"job {job} does not end")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
