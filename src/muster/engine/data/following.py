"""Streams the logs of a whole job, through all its attempts. A stream can be resumed after every piece."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from muster.domain.errors import Invalid, MusterError, NotFound, Unreachable
from muster.domain.jobs import Job
from muster.domain.specs import Role
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.log_times import TimesReader, until_offset, with_times
from muster.engine.data.logs import LogReader, Piece

_QUEUED_PIECES = 16
_LOOK_AGAIN_S = 15.0
_ALL = 1 << 62
_NAMES_SHOWN = 20
_OFFSET = re.compile(r"[^=;]+=[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class LogCursor:
    """How far a reader has come: the attempt, and the next byte of each task."""

    attempt: int = 0
    offsets: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return ";".join([str(self.attempt), *(f"{task}={offset}" for task, offset in self.offsets.items())])

    @classmethod
    def parse(cls, text: str) -> "LogCursor":
        attempt, *parts = text.split(";")
        if not re.fullmatch(r"[0-9]{1,9}", attempt) or not all(_OFFSET.fullmatch(part) for part in parts):
            raise Invalid("this is not a log cursor", hint="take the id of the last event as it is")
        return cls(int(attempt), {name: int(offset) for name, offset in (part.split("=") for part in parts)})


@dataclass(frozen=True, slots=True)
class Wanted:
    tasks: tuple[str, ...] = ()
    tail: int | None = None
    follow: bool = False
    attempt: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    timestamps: bool = False


@dataclass(frozen=True, slots=True)
class Unread:
    """A task whose log cannot be read now."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class LogReaders:
    """What logs contain, and when it was written."""

    logs: LogReader
    times: TimesReader


async def follow_job(
    context: Context, logs: LogReader, job: Job, wanted: Wanted, cursor: LogCursor
) -> AsyncIterator[tuple[LogCursor, Piece | Unread]]:
    """Yields pieces, each with the cursor after it. Ends at the last one, or with `follow` when the job has ended. That
    a log cannot be read is told once, and with `follow` it is read on when it can be.

    Attempts come one after the other: a reader that resumes first gets the rest of the attempt that it was in.
    """
    unread: dict[str, Unread] = {}
    reader = LogReaders(logs, TimesReader(context))
    attempt = wanted.attempt or cursor.attempt or max(job.attempt, 1)
    with context.hub.subscribe(job.id) as changes:
        while True:
            tasks = _chosen(await context.store.tasks(job.id, attempt), wanted.tasks)
            cursor = cursor if cursor.attempt == attempt else LogCursor(attempt)
            start = await _start(reader, job, tasks, wanted, cursor)
            async for cursor, found in _merge(reader, job, tasks, start, wanted):
                if isinstance(found, Piece):
                    unread.pop(found.task, None)
                    yield cursor, found
                elif unread.get(found.task) != found:
                    unread[found.task] = found
                    yield cursor, found
            job = await context.store.job(job.id)
            is_over = job.is_final or job.is_elsewhere or attempt < job.attempt
            is_last = wanted.attempt is not None or attempt >= job.attempt
            if is_last and (is_over or not wanted.follow):
                return
            wanted = replace(wanted, tail=None)
            if attempt < job.attempt:
                attempt += 1
            else:
                await changes.next(_LOOK_AGAIN_S)


def check_workers(job: Job, names: Sequence[str]) -> None:
    """Raise NotFound before a stream begins, if a name is not in the job's spec and will never have a log."""
    known = [f"{role.name}-{index}" for role in job.spec.roles for index in range(_most(role))]
    unknown = [name for name in names if name.removeprefix(f"{job.name}-") not in known]
    if unknown:
        more = ", …" if len(known) > _NAMES_SHOWN else ""
        hint = f"it has {', '.join(known[:_NAMES_SHOWN])}{more}"
        raise NotFound(f"job {job.name} has no worker {', '.join(unknown)}", hint=hint)


async def task_of_worker(context: Context, job: Job, name: str, attempt: int | None) -> Task | None:
    """The task with this name, or role and index, of an attempt or of the latest one. None if it was not started.
    Raises NotFound if the job will never have such a worker."""
    tasks = await tasks_of_workers(context, job, (name,), attempt or max(job.attempt, 1))
    return tasks[0] if tasks else None


async def tasks_of_workers(context: Context, job: Job, names: Sequence[str], attempt: int) -> list[Task]:
    """The tasks of an attempt with these names, or all. Raises NotFound if the job will never have such a worker."""
    check_workers(job, names)
    return _chosen(await context.store.tasks(job.id, attempt), names)


def _most(role: Role) -> int:
    """The largest number of tasks that an attempt of the role may have had."""
    return max(role.replicas, role.max_replicas or 0)


def _chosen(tasks: Sequence[Task], names: Sequence[str]) -> list[Task]:
    return [task for task in tasks if not names or task.name in names or f"{task.role}-{task.index}" in names]


async def _start(reader: LogReaders, job: Job, tasks: list[Task], wanted: Wanted, cursor: LogCursor) -> LogCursor:
    offsets = {}
    for task in tasks:
        if task.name in cursor.offsets:
            offsets[task.name] = cursor.offsets[task.name]
        else:
            offsets[task.name] = max(
                0 if wanted.tail is None else await _start_of_tail(reader.logs, job, task, wanted.tail),
                0 if wanted.since_ms is None else await _start_of_time(reader, job, task, wanted.since_ms),
            )
    return LogCursor(cursor.attempt, offsets)


async def _start_of_time(reader: LogReaders, job: Job, task: Task, since_ms: int) -> int:
    try:
        if task.ended_at is not None and task.ended_at * 1000 < since_ms:
            return (await reader.logs.extent(task, job.cluster)).size
        times = await reader.times.times(task, job.cluster)
        return await reader.logs.line_start(task, job.cluster, times.since(since_ms))
    except MusterError:
        return 0


async def _start_of_tail(reader: LogReader, job: Job, task: Task, lines: int) -> int:
    try:
        return await reader.start_of_tail(task, job.cluster, lines)
    except MusterError:
        return 0  # the task has not started yet, or its node is unreachable: everything that comes is new


async def _pieces(reader: LogReaders, job: Job, task: Task, offset: int, wanted: Wanted) -> AsyncIterator[Piece]:
    pieces = reader.logs.pieces(task, job.cluster, offset, follow=wanted.follow)
    if wanted.until_ms is not None:
        pieces = until_offset(pieces, await _end_of_time(reader, job, task, wanted.until_ms))
    if wanted.timestamps:
        pieces = with_times(pieces, reader.times, task, job.cluster)
    async for piece in pieces:
        yield piece


async def _end_of_time(reader: LogReaders, job: Job, task: Task, until_ms: int) -> int:
    """Bytes whose times are not known are newer than all others."""
    times = await reader.times.times(task, job.cluster)
    ended = task.ended_at is not None and task.ended_at * 1000 <= until_ms
    return _ALL if ended or not times.known else times.until(until_ms)


async def _merge(
    reader: LogReaders, job: Job, tasks: list[Task], cursor: LogCursor, wanted: Wanted
) -> AsyncIterator[tuple[LogCursor, Piece | Unread]]:
    """Read the logs of all tasks at once, and yield each piece as it comes. A slow reader slows the reading, not the
    tasks."""
    queue: asyncio.Queue[Piece | Unread | None] = asyncio.Queue(_QUEUED_PIECES)

    async def pump(task: Task) -> None:
        try:
            async for piece in _pieces(reader, job, task, cursor.offsets[task.name], wanted):
                await queue.put(piece)
        except NotFound:
            pass  # the task never started, or its log was removed meanwhile
        except Unreachable as error:
            await queue.put(Unread(task.name, error.message))
        await queue.put(None)

    offsets = dict(cursor.offsets)
    async with asyncio.TaskGroup() as group:
        pumps = [group.create_task(pump(task)) for task in tasks]
        open_pumps = len(pumps)
        try:
            while open_pumps:
                found = await queue.get()
                if found is None:
                    open_pumps -= 1
                    continue
                if isinstance(found, Piece):
                    offsets[found.task] = found.end
                yield LogCursor(cursor.attempt, dict(offsets)), found
        finally:
            for task in pumps:
                task.cancel()
