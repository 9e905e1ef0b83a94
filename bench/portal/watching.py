"""What a page costs its browser and its server: time, CPU, memory and elements.

On a machine that is busy with other things, time says little. CPU says what there is to do: that of the page's main
thread and that of the server stand beside each time.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import CDPSession, Page

from bench.measuring import sample_process
from tests.parts.server import MusterServer

PATIENCE_MS = 120_000


@dataclass
class Spent:
    seconds: float = 0.0
    page_cpu_s: float = 0.0
    """Of the thread that scripts, styles and layout run on."""
    server_cpu_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.page_cpu_s:.2f} s of CPU in the page, {self.server_cpu_s:.2f} s in the server"


@contextmanager
def spent(page: Page, server: MusterServer) -> Iterator[Spent]:
    """The page may be loaded in the block: it stays in its process."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    measured = Spent()
    page_before, server_before, began = _thread_s(session), _server_s(server), time.monotonic()
    yield measured
    measured.seconds = time.monotonic() - began
    measured.page_cpu_s = _thread_s(session) - page_before
    measured.server_cpu_s = _server_s(server) - server_before
    session.detach()


def heap_bytes(page: Page) -> int:
    """What the scripts of the page hold, after what they have let go of was collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    session.detach()
    return int(usage["usedSize"])


def elements(page: Page) -> int:
    return int(page.evaluate("document.querySelectorAll('*').length"))


def _thread_s(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "ThreadTime")


def _server_s(server: MusterServer) -> float:
    found = sample_process(server.pid)
    return found.own_cpu_s if found else 0.0
