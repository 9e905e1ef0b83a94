"""Finds metrics in the logs of tasks: by the patterns of a job, and in lines of `muster.log` on backends that collect
no file of metrics. A log with patterns is followed while its task runs; the rest of it is read once it is collected."""

import asyncio
import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import structlog

from muster.domain.errors import MusterError
from muster.domain.experiments.job_metrics import MetricBatch, MetricCursor, MetricPoint
from muster.domain.experiments.metric_lines import MARK, points_of_line, whole_lines
from muster.domain.experiments.metric_patterns import MetricPatterns
from muster.domain.jobs import Job
from muster.domain.log_times import LogTimes
from muster.domain.specs import WORKER_ROLE
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.log_times import TimesReader
from muster.engine.data.logs import LogReader
from muster.ports.capabilities import TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.metrics")
_CHUNK = 256 << 10
_NOTE_EVERY = 16 << 20
"""So many bytes without a metric are read again at most."""
_APART_S = 1.0
_LINE = re.compile(rb"[^\r\n]+")


def follow_log(context: Context, job: Job, task: Task) -> None:
    """Search the log of a running task in the background, if its job has patterns and nobody does so already."""
    reading = context.reported_metrics.reading_logs
    is_wanted = job.spec.metrics and is_searched(job, task) and not _searches_itself(context, job)
    if is_wanted and task.id not in reading:
        reading.add(task.id)
        context.spawn(_follow(context, job, task), f"log metrics {task.id}")


async def read_collected_log(context: Context, task: Task) -> None:
    """Search the rest of a log that was collected. A log is as good without metrics, so that nothing fails for them."""
    try:
        entry = context.open_jobs.get(task.job_id)
        job = entry.job if entry is not None else await context.store.job(task.job_id)
        if _searches_itself(context, job):
            return
        search = _search(context, job, task)
        if not search.patterns and (not search.marks or not await asyncio.to_thread(_has_mark, context, task)):
            return
        await search.read(is_last=True)
    except (MusterError, OSError) as error:
        _log.warning("metrics in a log not kept", task=task.id, error=str(error))


def is_searched(job: Job, task: Task) -> bool:
    """Patterns are for the first task of the role `worker`, or of the first role if there is none of that name."""
    names = [role.name for role in job.spec.roles]
    return task.index == 0 and task.role == (WORKER_ROLE if WORKER_ROLE in names else names[0])


def _searches_itself(context: Context, job: Job) -> bool:
    """Whether the engine finds the metrics in logs, and has them among those of the attempt."""
    backend = context.backends.get(job.cluster)
    return backend is not None and backend.capabilities.attempt_metrics is not None


def _search(context: Context, job: Job, task: Task) -> "_LogSearch":
    backend = context.backends.get(job.cluster)
    marks = backend is not None and backend.capabilities.metrics is None
    return _LogSearch(context, job, task, job.spec.metrics if is_searched(job, task) else (), marks)


async def _follow(context: Context, job: Job, task: Task) -> None:
    try:
        logs = context.backends[job.cluster].capabilities.logs
        if logs is None:
            return
        search = _search(context, job, task)
        async with aclosing(logs.watch(TaskRef.of(task))) as sizes:
            async for _ in sizes:
                await search.read(is_last=False)
                await asyncio.sleep(_APART_S)
    except MusterError as error:
        _log.info("log not searched for metrics, will try again", task=task.id, error=str(error))
    finally:
        context.reported_metrics.reading_logs.discard(task.id)


@dataclass(slots=True)
class _LogSearch:
    context: Context
    job: Job
    task: Task
    patterns: Sequence[str]
    marks: bool
    """Whether lines of `muster.log` are searched, too."""

    async def read(self, *, is_last: bool) -> None:
        """Read from where the last reader stopped to the end of the log as it is now."""
        reader, times = LogReader(self.context), TimesReader(self.context)
        compiled, source = MetricPatterns(self.patterns), f"{self.task.id} log"
        stored = position = await self.context.store.metric_cursor(self.job.id, source)
        while True:
            chunk = await reader.chunk(self.task, self.job.cluster, position, _CHUNK)
            if chunk.dropped is not None and chunk.dropped.contains(position):
                position = chunk.dropped.end
                continue
            length = whole_lines(chunk.data, is_last=is_last and chunk.ended)
            if not length:
                break
            written = await times.times(self.task, self.job.cluster, position + length)
            data = chunk.data[:length]
            found = await asyncio.to_thread(self._found, compiled, data, position, written)
            position += length
            if found or position - stored >= _NOTE_EVERY:
                await self._store(found, MetricCursor(source, stored, position))
                stored = position
        if is_last and position > stored:
            await self._store([], MetricCursor(source, stored, position))

    def _found(self, patterns: MetricPatterns, data: bytes, offset: int, times: LogTimes) -> list["_Found"]:
        return [
            one
            for match in _LINE.finditer(data)
            for one in self._in_line(patterns, match[0], self._time_of(times, offset + match.start()))
        ]

    def _in_line(self, patterns: MetricPatterns, line: bytes, at: float) -> Iterator["_Found"]:
        place = line.find(MARK) if self.marks else -1
        if place >= 0:
            points = points_of_line(line[place + len(MARK) :], at)
            yield from (_Found(point.name, point.step, point.at, point.value) for point in points)
            return
        yield from (_Found(name, step, at, value) for name, step, value in patterns.found(line))

    def _time_of(self, times: LogTimes, offset: int) -> float:
        at_ms = times.written_at_ms(offset)
        return at_ms / 1000 if at_ms is not None else self.task.ended_at or self.context.clock()

    async def _store(self, found: Sequence["_Found"], cursor: MetricCursor) -> None:
        points = await self._with_steps(found)
        batch = MetricBatch(self.job.id, self.task.attempt, points, cursor, self.context.limits.metrics)
        await self.context.store.apply(Change(metrics=batch))

    async def _with_steps(self, found: Sequence["_Found"]) -> list[MetricPoint]:
        """Points of lines that have no step are numbered from the last one that is stored."""
        names = [one.name for one in found if one.step is None]
        known = await self.context.store.metric_series([self.job.id], attempt=self.task.attempt) if names else []
        last = {one.name: one.last.step for one in known}
        points: list[MetricPoint] = []
        for one in found:
            step = last.get(one.name, -1) + 1 if one.step is None else one.step
            last[one.name] = step
            points.append(MetricPoint(one.name, step, one.at, one.value))
        return points


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    step: int | None
    at: float
    value: float


def _has_mark(context: Context, task: Task) -> bool:
    assert task.log is not None
    path: Path = context.logs / task.log
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(MARK) >= 0
