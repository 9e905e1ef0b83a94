"""Reads the metrics that tasks report in a file of their own, while they run and when they have ended.

The store knows how far each file was read, and moves that with the points, so that nothing is lost or stored twice
whenever the server stops.
"""

import structlog

from muster.domain.errors import MusterError, NotFound
from muster.domain.experiments.job_metrics import MetricBatch, MetricCursor
from muster.domain.experiments.metric_lines import points_in, whole_lines
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.attempt_metrics import take_newer, take_whole
from muster.ports.capabilities import TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.metrics")
_CHUNK = 256 << 10
MOST_BYTES = 64 << 20
"""No more is read of one task, whatever it writes."""


def note_metrics(context: Context, cluster: str, task: Task, size: int) -> None:
    """The task has reported so many bytes. They are read in the background, by one reader for each task."""
    reported = context.reported_metrics
    if reported.sizes.get(task.id) == size:
        return
    reported.sizes[task.id] = size
    if task.id not in reported.reading:
        reported.reading.add(task.id)
        context.spawn(_follow(context, cluster, task), f"metrics {task.id}")


async def read_all_metrics(context: Context, cluster: str, task: Task) -> None:
    """Read what is left of the metrics of a task that has ended, or with the first task those of the attempt. Raises
    Unreachable and Unavailable."""
    if context.backends[cluster].capabilities.attempt_metrics is not None:
        if task.rank == 0:
            await take_whole(context, cluster, task)
    elif context.reported_metrics.may_have_more(task):
        await _read(context, cluster, task)
        context.reported_metrics.sizes.pop(task.id, None)


async def _read(context: Context, cluster: str, task: Task) -> None:
    """Read what the task has reported since the last time."""
    capabilities = context.backends[cluster].capabilities
    if capabilities.attempt_metrics is not None:
        await take_newer(context, cluster, task)
    metrics = capabilities.metrics
    if metrics is None:
        return
    source = f"{task.id} file"
    position = await context.store.metric_cursor(task.job_id, source)
    while position < MOST_BYTES:
        try:
            chunk = await metrics.read(TaskRef.of(task), position, _CHUNK)
        except NotFound:
            return  # the task never came to its node
        length = whole_lines(chunk.data, is_last=chunk.ended)
        if not length:
            return
        points = list(points_in(chunk.data[:length], context.clock()))
        cursor = MetricCursor(source, position, position + length)
        batch = MetricBatch(task.job_id, task.attempt, points, cursor, context.limits.metrics)
        await context.store.apply(Change(metrics=batch))
        position = cursor.end


async def _follow(context: Context, cluster: str, task: Task) -> None:
    reported, size = context.reported_metrics, 0
    try:
        while reported.sizes.get(task.id, 0) > size:
            size = reported.sizes[task.id]
            await _read(context, cluster, task)
    except MusterError as error:
        _log.info("metrics not read, will try again", task=task.id, error=str(error))
    finally:
        reported.reading.discard(task.id)
