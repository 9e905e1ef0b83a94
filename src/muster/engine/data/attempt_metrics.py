"""Takes over the metrics of an attempt from an engine that keeps them itself, such as another Muster server.

What is stored already is asked for once more rather than missed: a point is stored once, however often it comes.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

import structlog

from muster.domain.errors import BackendError, NotFound, Unreachable
from muster.domain.experiments.job_metrics import MetricBatch, MetricPoint, point_problems
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.ports.capabilities import AttemptPoints, TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.metrics")
_AT_ONCE = 5000


async def take_newer(context: Context, cluster: str, task: Task) -> None:
    """Take what has come since the last time, while the attempt runs."""
    engine = context.backends[cluster].capabilities.attempt_metrics
    if engine is not None:
        known = await context.store.metric_series([task.job_id], attempt=task.attempt)
        await _take(context, task, engine.newer(TaskRef.of(task), known))


async def take_whole(context: Context, cluster: str, task: Task) -> None:
    """Take all that is missing when the attempt has ended. Logs and outputs are as good without metrics, so that
    nothing fails for an answer that makes no sense. Raises Unreachable and Unavailable."""
    engine = context.backends[cluster].capabilities.attempt_metrics
    if engine is None:
        return
    known = await context.store.metric_series([task.job_id], attempt=task.attempt)
    try:
        await _take(context, task, engine.whole(TaskRef.of(task), known))
    except Unreachable:
        raise
    except (BackendError, NotFound) as error:
        _log.warning("metrics not taken over", task=task.id, error=str(error))


async def _take(context: Context, task: Task, found: AsyncGenerator[AttemptPoints]) -> None:
    async with aclosing(found) as answers:
        async for answer in answers:
            points, batch = _valid(answer.points), MetricBatch(task.job_id, task.attempt, limits=context.limits.metrics)
            for begin in range(0, len(points), _AT_ONCE):
                some = replace(batch, points=points[begin : begin + _AT_ONCE])
                await context.store.apply(Change(metrics=some))
            if summed := _valid(answer.summed):
                await context.store.apply(Change(metrics=replace(batch, summed=summed)))


def _valid(points: Iterable[MetricPoint]) -> list[MetricPoint]:
    return [point for point in points if not point_problems(point, "")]
