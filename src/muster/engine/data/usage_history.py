"""What the tasks of a job used over time: sampled while they run, and kept in a file next to their logs.

Samples come from the nodes by themselves; here they are only looked at. Attempts that run are written now and then, so
that a restart costs little of a curve, and once more when they have ended.
"""

import asyncio
import json
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import structlog

from muster.domain.jobs import HOLDING, Job
from muster.domain.tasks import Task
from muster.domain.usage.usage_series import MOST_POINTS, UsageSeries, Values, values_of
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.engine.state.recorded_usage import Attempt, RecordedUsage
from muster.ports.capabilities import NodeUsage

_log = structlog.get_logger("engine.usage_history")
_EVERY_S = 5.0
_SAVED_EVERY_S = 300.0
_MOST_IN_ALL = 100_000
_LEAST_POINTS = 24
"""A task of a very large job has fewer points, so that what is kept of an attempt is bounded."""
_JOBS_AT_ONCE = 200
_CLOSING_S = 5.0


class UsageHistory:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorded = context.recorded_usage

    async def run(self) -> None:
        try:
            while True:
                await asyncio.sleep(_EVERY_S)
                try:
                    await self.sample()
                except Exception:
                    _log.exception("usage not sampled")
        finally:
            self._close()

    async def sample(self) -> None:
        """Take the newest samples of all running tasks, and write the histories that are due."""
        running: set[Attempt] = set()
        for number, entry in enumerate(self._context.open_jobs.entries(), 1):
            if isinstance(entry.job.state, HOLDING):
                attempt = (entry.job.id, entry.job.attempt)
                running.add(attempt)
                await self._sample_job(attempt, entry)
            if number % _JOBS_AT_ONCE == 0:
                await asyncio.sleep(0)
        now = time.monotonic()
        for attempt, recorded in list(self._recorded.items()):
            has_ended = attempt not in running
            if recorded.is_new and (has_ended or now - recorded.saved_at >= _SAVED_EVERY_S):
                await self._save(attempt, recorded)
            if has_ended:
                self._recorded.pop(attempt, None)

    async def of_attempt(self, job: Job, attempt: int) -> dict[str, UsageSeries]:
        """The usage of each task by its id; empty if none was measured, or if it was removed with the job's logs."""
        recorded = self._recorded.get((job.id, attempt))
        if recorded is not None:
            return recorded.series
        return await asyncio.to_thread(_read, self._path((job.id, attempt)))

    async def _sample_job(self, attempt: Attempt, entry: Entry) -> None:
        backend = self._context.backends.get(entry.job.cluster)
        nodes = backend.capabilities.latest_usage() if backend is not None else {}
        if not nodes:
            return
        recorded = self._recorded.get(attempt)
        for task in entry.current_tasks():
            sample = nodes.get(task.placement.node)
            if sample is None or task.id not in sample.tasks:
                continue
            if recorded is None:
                known = await asyncio.to_thread(_read, self._path(attempt))
                recorded = self._recorded[attempt] = RecordedUsage(known, saved_at=time.monotonic())
            if recorded.seen.get(task.id) == sample.at:
                continue
            recorded.seen[task.id] = sample.at
            recorded.is_new = True
            series = recorded.series.get(task.id)
            if series is None:
                most = min(MOST_POINTS, max(_LEAST_POINTS, _MOST_IN_ALL // len(entry.tasks)))
                series = recorded.series[task.id] = UsageSeries(task.placement.devices, most)
            series.add(sample.received_at or sample.at, _values(task, sample))

    async def _save(self, attempt: Attempt, recorded: RecordedUsage) -> None:
        recorded.is_new, recorded.saved_at = False, time.monotonic()
        plain = {task: series.to_plain() for task, series in recorded.series.items()}
        try:
            await asyncio.to_thread(_write, self._path(attempt), plain)
        except OSError as error:
            _log.warning("usage not kept", job=attempt[0], error=str(error))

    def _close(self) -> None:
        """Keep what came since the last time, as far as that takes no longer than a moment."""
        deadline = time.monotonic() + _CLOSING_S
        for attempt, recorded in self._recorded.items():
            if recorded.is_new and time.monotonic() < deadline:
                try:
                    _write(self._path(attempt), {task: series.to_plain() for task, series in recorded.series.items()})
                except OSError as error:
                    _log.warning("usage not kept", job=attempt[0], error=str(error))

    def _path(self, attempt: Attempt) -> Path:
        job_id, number = attempt
        return self._context.logs / job_id / f"{number}.usage"


def _values(task: Task, sample: NodeUsage) -> Values:
    usage = sample.tasks[task.id]
    gpus = {gpu.get("index"): gpu for gpu in sample.metrics.get("gpus") or ()}
    of_gpus = [_gpu_values(gpus.get(index) or {}) for index in task.placement.devices]
    return values_of(usage.cpu_percent, usage.rss_bytes, of_gpus)


def _gpu_values(gpu: dict[str, float | None]) -> Values:
    return gpu.get("load"), gpu.get("memory_used_bytes"), gpu.get("power_w")


def _write(path: Path, plain: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(zlib.compress(json.dumps(plain, separators=(",", ":")).encode()))
    partial.replace(path)


def _read(path: Path) -> dict[str, UsageSeries]:
    try:
        plain = json.loads(zlib.decompress(path.read_bytes()))
        return {task: UsageSeries.of_plain(series) for task, series in plain.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        _log.warning("a usage history cannot be read", file=str(path), error=str(error))
        return {}
