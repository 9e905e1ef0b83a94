"""Takes the scalars of event files of TensorBoard and VisualDL among the outputs of a task into the metrics of its job.

A scalar has its own time, so that a file that is read twice gives each point once.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePosixPath

import structlog

from muster.domain.errors import MusterError
from muster.domain.experiments.event_files import is_event_file, scalars
from muster.domain.experiments.job_metrics import MetricBatch, MetricPoint, point_problems
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.attempt_metrics import take_whole
from muster.engine.data.log_metrics import is_searched
from muster.ports.capabilities import OutputFile
from muster.ports.store import Change

_log = structlog.get_logger("engine.metrics")
_AT_ONCE = 5000


async def read_event_files(context: Context, job: Job, task: Task, folder: Path, files: Sequence[OutputFile]) -> None:
    """Outputs are as good without metrics, so that nothing fails for them. An engine that takes metrics itself has read
    the files, and is asked."""
    found = [file.path for file in files if is_event_file(file.path)]
    if not found:
        return
    backend = context.backends.get(job.cluster)
    if backend is not None and backend.capabilities.attempt_metrics is not None:
        await take_whole(context, job.cluster, task)
        return
    prefixes = prefixes_of(found, "" if is_searched(job, task) else f"{task.role}-{task.index}/")
    limits, left = context.limits.metrics, context.limits.metrics.points * 2
    try:
        for path in found:
            points = _points(folder / path, path, prefixes[path])
            while left > 0 and (batch := await asyncio.to_thread(_next, points)):
                left -= len(batch)
                metrics = MetricBatch(job.id, task.attempt, batch, limits=limits)
                await context.store.apply(Change(metrics=metrics))
    except (MusterError, OSError) as error:
        _log.warning("event files not read", task=task.id, error=str(error))


def _next(points: Iterator[MetricPoint]) -> list[MetricPoint]:
    return list(islice(points, _AT_ONCE))


def prefixes_of(paths: Sequence[str], own: str = "") -> dict[str, str]:
    """What stands before the names of the scalars of each file: nothing if all files are in one folder, else the rest
    of the path of its folder, as TensorBoard calls its runs."""
    parents = {path: PurePosixPath(path).parent.parts for path in paths}
    shared = 0
    while len({parts[shared : shared + 1] for parts in parents.values()} | {()}) == 2 and all(
        len(parts) > shared for parts in parents.values()
    ):
        shared += 1
    return {path: own + "".join(f"{part}/" for part in parts[shared:]) for path, parts in parents.items()}


def _points(place: Path, path: str, prefix: str) -> Iterator[MetricPoint]:
    with place.open("rb") as file:
        for point in scalars(file, path):
            named = replace(point, name=prefix + point.name)
            if not point_problems(named, ""):
                yield named
