"""Sends the usage of nodes, and the figures of jobs and queues, to InfluxDB at regular intervals.

A database that is unavailable blocks nothing: points wait in a buffer that drops the oldest, and a warning is logged
once per minute.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import structlog

from muster.exporters.influx_database import (
    AccountRefused,
    DatabaseMissing,
    InfluxDatabase,
    InfluxUnavailable,
    PointsRefused,
)
from muster.exporters.lines import lines_of, lines_of_work
from muster.lib.backoff import exponential
from muster.lib.clock import wall_clock
from muster.lib.daemon_threads import on_daemon_thread
from muster.ports.backend import Backend
from muster.ports.exporting import ExportCounts, WorkFigures
from muster.settings.influx import InfluxSettings

_log = structlog.get_logger("exporters.influx")
BATCH_LINES = 5_000
BUFFER_LINES = 200_000
_WARN_EVERY_S = 60.0
_NODES_AT_ONCE = 10


@asynccontextmanager
async def exporting(
    settings: InfluxSettings | None,
    password: str,
    backends: Mapping[str, Backend],
    counts: ExportCounts,
    work: Callable[[], WorkFigures] = WorkFigures,
) -> AsyncIterator[None]:
    """Export while the context is open. Points that are still in the buffer at its end are lost."""
    if settings is None:
        yield
        return
    exporter = InfluxExporter(InfluxDatabase(settings, password), backends, counts, work=work)
    tasks = [
        asyncio.create_task(exporter.collect_for_ever(settings.every), name="influx collecting"),
        asyncio.create_task(exporter.send_for_ever(), name="influx sending"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class InfluxExporter:
    def __init__(
        self,
        database: InfluxDatabase,
        backends: Mapping[str, Backend],
        counts: ExportCounts,
        buffer_lines: int = BUFFER_LINES,
        work: Callable[[], WorkFigures] = WorkFigures,
    ) -> None:
        self._database = database
        self._backends = backends
        self._counts = counts
        self._buffer_lines = buffer_lines
        self._work = work
        self._batches: deque[list[str]] = deque()
        self._filled = asyncio.Event()
        self._last: dict[tuple[str, str], float] = {}
        self._is_made = False
        self._warned_at = 0.0
        self._failures = 0

    async def collect_for_ever(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                await self.collect()
            except Exception:  # a mistake with one sample must not end the collecting of all that follow
                _log.exception("samples could not be collected")

    async def collect(self) -> None:
        """Put the samples that arrived since the last call into the buffer, and what the jobs do now."""
        now = [
            (name, host, usage)
            for name, backend in self._backends.items()
            for host, usage in backend.capabilities.latest_usage().items()
        ]
        fresh = [
            (name, host, usage) for name, host, usage in now if usage.received_at > self._last.get((name, host), 0.0)
        ]
        self._last = {(name, host): usage.received_at for name, host, usage in now}
        lines: list[str] = []
        for number, (name, host, usage) in enumerate(fresh, 1):
            lines += lines_of(name, host, usage)
            if number % _NODES_AT_ONCE == 0:
                await asyncio.sleep(0)  # let other tasks of the event loop run
        lines += lines_of_work(self._work(), wall_clock())
        for first in range(0, len(lines), BATCH_LINES):
            self._put(lines[first : first + BATCH_LINES])

    async def send_for_ever(self) -> None:
        while True:
            await self._filled.wait()
            await self.send()
            if self._failures:
                await asyncio.sleep(exponential(self._failures, first_s=1.0, limit_s=30.0))

    async def send(self) -> None:
        """Send everything that waits, until the buffer is empty or the database is unavailable."""
        while self._batches:
            batch = self._batches.popleft()
            self._counts.waiting -= len(batch)
            try:
                await on_daemon_thread(partial(self._deliver, "\n".join(batch).encode()), "influx")
            except (InfluxUnavailable, DatabaseMissing) as error:
                self._failures += 1
                self._put_back(batch)
                self._warn("InfluxDB is unavailable", str(error))
                return
            except PointsRefused as error:
                self._counts.dropped += len(batch)
                self._warn("InfluxDB refused points", str(error))
            else:
                self._counts.sent += len(batch)
                self._log_recovery()
            self._failures = 0
        self._filled.clear()

    def _deliver(self, body: bytes) -> None:
        """Write points, on a thread. The database is created before the first points, and again if it was dropped."""
        if not self._is_made:
            self._make()
        try:
            self._database.write(body)
        except DatabaseMissing:
            self._is_made = False
            raise

    def _make(self) -> None:
        try:
            self._database.create()
        except (AccountRefused, PointsRefused, DatabaseMissing):
            pass  # the database may exist anyway; otherwise the write fails
        self._is_made = True

    def _put(self, batch: list[str]) -> None:
        self._batches.append(batch)
        self._counts.waiting += len(batch)
        self._shrink()
        self._filled.set()

    def _put_back(self, batch: list[str]) -> None:
        self._batches.appendleft(batch)
        self._counts.waiting += len(batch)
        self._shrink()

    def _shrink(self) -> None:
        while self._counts.waiting > self._buffer_lines and self._batches:
            oldest = self._batches.popleft()
            self._counts.waiting -= len(oldest)
            self._counts.dropped += len(oldest)

    def _log_recovery(self) -> None:
        if self._failures:
            self._warned_at = 0.0
            _log.info("InfluxDB is available again", waiting=self._counts.waiting, dropped=self._counts.dropped)

    def _warn(self, what: str, why: str) -> None:
        now = time.monotonic()
        if not self._warned_at or now - self._warned_at >= _WARN_EVERY_S:
            self._warned_at = now
            counts = {"waiting": self._counts.waiting, "dropped": self._counts.dropped}
            _log.warning(what, error=why, **counts)
