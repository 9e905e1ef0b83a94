"""The outputs of tasks: they are collected when the tasks have ended, listed, served, and removed with their job.

Collection comes after the job's end is stored: no resources are held for it, and a failure costs nothing but time. What
was collected of a task is in a record next to its files. A record that is not complete is tried again, at the latest
when the node is back. Paths come from records only, never from a request.
"""

import asyncio
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog

from muster.domain.errors import MusterError, NotFound, Unreachable
from muster.domain.jobs import Job, Succeeded
from muster.domain.output_patterns import is_glob, matches
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.event_file_metrics import read_event_files
from muster.engine.state.event_builders import outputs_event
from muster.lib.backoff import exponential
from muster.ports.capabilities import Collected, OutputFile, TaskRef, required
from muster.ports.files import MAX_DEPTH
from muster.ports.store import Change

_log = structlog.get_logger("engine.outputs")
_AT_ONCE = 8
_TRIES = 10
_PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """The record of one task."""

    files: tuple[OutputFile, ...] = ()
    left_out: tuple[str, ...] = ()
    skipped: int = 0
    too_deep: int = 0
    problem: str = ""
    """Why the outputs are not complete; empty if nothing more is to come."""
    lost: str = ""
    """Why some of them are missing for good."""


@dataclass(frozen=True, slots=True)
class Output:
    """`path` is its name for people, and `place` its file on the server."""

    path: str
    task: str
    file: OutputFile
    place: Path


@dataclass(frozen=True, slots=True)
class Listing:
    attempt: int
    items: tuple[Output, ...] = ()
    complete: bool = True
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


async def collect(context: Context, job: Job, tasks: Sequence[Task], tries: int = 1) -> None:
    """Collect the outputs of these ended tasks of one attempt. Then their nodes may retire the tasks."""
    wanted = [task for task in tasks if task.id not in context.collecting_outputs]
    context.collecting_outputs.update(task.id for task in wanted)
    storage = _StorageLimit(context.outputs / job.id, context.max_output_bytes, wanted)
    turns = asyncio.Semaphore(_AT_ONCE)
    try:
        collected = await asyncio.gather(*(_collect_one(context, job, task, storage, turns) for task in wanted))
    finally:
        context.collecting_outputs.difference_update(task.id for task in wanted)
    if not await _is_there(context, job.id):
        remove(context, job.id)
        return
    context.kept_data.changed(job)
    await _record_event(context, job, wanted, [record for record, _ in collected])
    again = [task for task, (_, may_help) in zip(wanted, collected, strict=True) if may_help]
    if again and tries < _TRIES:
        delay_s = exponential(tries, first_s=5.0, limit_s=600.0)
        context.later(delay_s, lambda: collect(context, job, again, tries + 1), f"outputs {job.id}")


async def collect_late(context: Context, task: Task) -> bool:
    """Collect the outputs of a task that came back after the end of its attempt. Whether there was anything to do."""
    try:
        job = await context.store.job(task.job_id)
    except NotFound:
        return False
    record = await asyncio.to_thread(_read, _record_of(context, task))
    if not job.spec.outputs or (record is not None and not record.problem):
        return False
    await collect(context, job, [task])
    return True


async def listing(context: Context, job: Job, attempt: int | None = None) -> Listing:
    """The outputs of one attempt, by default the newest. If the job has more than one task, each path begins with its
    task, as in `worker-0/model/weights`."""
    number = attempt or job.attempt
    if not job.spec.outputs or not number:
        return Listing(number)
    tasks = await context.store.tasks(job.id, number)
    if attempt is not None and not tasks:
        raise NotFound(f"job {job.name} has no attempt {attempt}", hint=f"the newest is {job.attempt}")
    records = await asyncio.to_thread(lambda: [_read(_record_of(context, task)) for task in tasks])
    items: list[Output] = []
    left_out: list[str] = []
    problems: list[str] = []
    for task, record in zip(tasks, records, strict=True):
        prefix = "" if _is_alone(job) else f"{task.role}-{task.index}/"
        for file in record.files if record else ():
            items.append(Output(prefix + file.path, task.name, file, _folder_of(context, task) / file.path))
        left_out += [prefix + path for path in record.left_out] if record else []
        problems += _problems(task, record) if record else []
    complete = all(task.has_ended for task in tasks) and all(record and not record.problem for record in records)
    if complete:
        problems += _unmatched(job, [record for record in records if record])
    return Listing(number, tuple(items), complete, tuple(left_out), tuple(problems))


async def find(context: Context, job: Job, path: str, attempt: int | None = None) -> Output:
    for output in (await listing(context, job, attempt)).items:
        if output.path == path:
            return output
    raise NotFound(f"job {job.name} has no output {path!r}", hint=f"`muster outputs {job.name}` lists them")


def remove(context: Context, job_id: str) -> None:
    shutil.rmtree(context.outputs / job_id, ignore_errors=True)


class _StorageLimit:
    """How much of a job's outputs is kept. Outputs of earlier attempts are removed first, beginning with the oldest."""

    def __init__(self, folder: Path, limit_bytes: int, tasks: Sequence[Task]) -> None:
        self._left = limit_bytes
        self._earlier: list[tuple[int, Path, int]] = []
        current = {_name(task) for task in tasks}
        attempt = max((task.attempt for task in tasks), default=0)
        for record in folder.glob("*.json"):
            collected = _read(record)
            number, name = int(record.name.split(".")[0]), record.name.removesuffix(".json")
            if collected is None or name in current:
                continue
            size = sum(file.size for file in collected.files)
            self._left -= size
            if number < attempt:
                self._earlier.append((number, folder / name, size))
        self._earlier.sort(reverse=True)

    def admit(self, size: int) -> bool:
        while size > self._left and self._earlier and size <= self._left + sum(one[2] for one in self._earlier):
            _, folder, freed = self._earlier.pop()
            shutil.rmtree(folder, ignore_errors=True)
            _write(
                folder.with_name(folder.name + ".json"),
                OutputRecord(left_out=("everything: it was removed to make room for a later attempt",)),
            )
            self._left += freed
        if size > self._left:
            return False
        self._left -= size
        return True


async def _collect_one(
    context: Context, job: Job, task: Task, storage: _StorageLimit, turns: asyncio.Semaphore
) -> tuple[OutputRecord, bool]:
    """The record, and whether trying again before the node reconnects may help."""
    may_help = False
    folder, record = _folder_of(context, task), _record_of(context, task)
    try:
        async with turns:
            found = await _fetched(context, job, task, folder, storage)
        collected = OutputRecord(found.files, found.left_out, found.skipped, found.too_deep, lost=found.problem)
        await read_event_files(context, job, task, folder, found.files)  # before anybody is told that all is there
        await asyncio.to_thread(_finish, folder, record, collected)
    except (MusterError, OSError) as error:
        _log.warning("outputs not collected", task=task.id, error=str(error))
        may_help = not isinstance(error, Unreachable)
        collected = OutputRecord(problem=f"{task.placement.node}: {error}")
        await asyncio.to_thread(_note, record, collected)
    if not collected.problem and task.log is not None:
        context.settled(job.cluster, TaskRef.of(task))
    return collected, may_help


async def _fetched(context: Context, job: Job, task: Task, folder: Path, storage: _StorageLimit) -> Collected:
    if task.started_at is None:
        return Collected()
    node = task.placement.node
    if node in context.lost_nodes.get(job.cluster, ()):
        raise Unreachable("it is unreachable; its outputs are collected when it is back")
    outputs = required(context.backends[job.cluster].capabilities.outputs, "outputs", job.cluster)
    return await outputs.collect(TaskRef.of(task), job.spec.outputs, folder, storage.admit)


async def _is_there(context: Context, job_id: str) -> bool:
    try:
        await context.store.job(job_id)
    except NotFound:
        return False
    return True


async def _record_event(context: Context, job: Job, tasks: Sequence[Task], records: Sequence[OutputRecord]) -> None:
    problems = [words for record in records for words in (record.problem, record.lost) if words]
    attempt = max((task.attempt for task in tasks), default=0)
    if not problems and len(tasks) == len(await context.store.tasks(job.id, attempt)):
        problems = list(_unmatched(job, records))
    if problems or any(record != OutputRecord() for record in records):
        event = outputs_event(job, context.clock(), "; ".join(problems), **_counted(records))
        await context.apply(Change(events=[event]))


def _counted(records: Sequence[OutputRecord]) -> dict[str, int]:
    files = [file for record in records for file in record.files]
    left_out = sum(len(record.left_out) + record.skipped + record.too_deep for record in records)
    return {"files": len(files), "bytes": sum(file.size for file in files), "leftOut": left_out}


def _problems(task: Task, record: OutputRecord) -> Iterator[str]:
    if record.problem:
        yield f"{task.name}: {record.problem}"
    if record.lost:
        yield f"{task.name}: {record.lost}"
    if record.skipped:
        yield f"{task.name}: {record.skipped} files are not collected: too many, unreadable, or names that are not text"
    if record.too_deep:
        yield f"{task.name}: {record.too_deep} folders are not collected: they are nested more than {MAX_DEPTH} deep"


def _unmatched(job: Job, records: Sequence[OutputRecord]) -> Iterator[str]:
    """The patterns in the spec that match no output, once all tasks have been examined. A job that succeeded need not
    have left anything for a pattern with wildcards. Nobody knows it of outputs that were lost."""
    if any(record.lost for record in records):
        return
    found = [path for record in records for path in (*(file.path for file in record.files), *record.left_out)]
    for pattern in job.spec.outputs:
        is_optional = is_glob(pattern) and isinstance(job.state, Succeeded)
        if not is_optional and not any(matches(pattern, path) for path in found):
            yield f"no task left anything that matches `{pattern}`, which `outputs` in the spec names"


def _is_alone(job: Job) -> bool:
    return job.spec.task_count == 1 and not any(role.is_elastic for role in job.spec.roles)


def _name(task: Task) -> str:
    return f"{task.attempt}.{task.role}-{task.index}"


def _folder_of(context: Context, task: Task) -> Path:
    return context.outputs / task.job_id / _name(task)


def _record_of(context: Context, task: Task) -> Path:
    return context.outputs / task.job_id / f"{_name(task)}.json"


def _finish(folder: Path, record: Path, collected: OutputRecord) -> None:
    shutil.rmtree(folder.with_name(folder.name + _PARTIAL), ignore_errors=True)
    _write(record, collected)


def _note(record: Path, collected: OutputRecord) -> None:
    try:
        _write(record, collected)
    except OSError as error:  # the disk of the server is full: then only the event says so
        _log.warning("outputs not recorded", record=record.name, error=str(error))


def _write(record: Path, collected: OutputRecord) -> None:
    record.parent.mkdir(parents=True, exist_ok=True)
    partial = record.with_suffix(".new")
    partial.write_text(json.dumps(asdict(collected)), encoding="utf-8")
    partial.replace(record)


def _read(record: Path) -> OutputRecord | None:
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
        files = tuple(OutputFile(**file) for file in data["files"])
        counts = int(data["skipped"]), int(data.get("too_deep", 0))
        lost = str(data.get("lost") or "")
        return OutputRecord(files, tuple(data["left_out"]), *counts, str(data["problem"]), lost)
    except (OSError, ValueError, KeyError, TypeError):
        return None
