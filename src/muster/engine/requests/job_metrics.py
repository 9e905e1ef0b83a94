"""Reads and writes the metrics of a job for those who ask the server."""

from collections.abc import Sequence

from muster.domain.errors import Invalid
from muster.domain.experiments.job_metrics import MetricBatch, MetricPoint, MetricSeries, point_problems
from muster.domain.jobs import Job
from muster.engine.context import Context
from muster.ports.store import Change


async def report(context: Context, job: Job, attempt: int | None, points: Sequence[MetricPoint]) -> None:
    """Store those points that are not there yet. Raises Invalid with all that is wrong with them."""
    newest = max(job.attempt, 1)
    if attempt is not None and attempt > newest:
        raise Invalid(f"{job.name} has no attempt {attempt}", hint=f"its newest is {newest}")
    require_valid(points)
    limits = context.limits.metrics
    await context.store.apply(Change(metrics=MetricBatch(job.id, attempt or newest, points, limits=limits)))


def require_valid(points: Sequence[MetricPoint]) -> None:
    """Raises Invalid with all that is wrong with the points."""
    problems = tuple(found for index, point in enumerate(points) for found in point_problems(point, f"points[{index}]"))
    if problems:
        raise Invalid("the metrics cannot be stored", problems=problems)


async def reported(
    context: Context, job: Job, attempt: int, names: Sequence[str] = ()
) -> tuple[list[MetricSeries], int]:
    """The summaries of the metrics of an attempt, and how many more points of the job are stored."""
    every = await context.store.metric_series([job.id])
    room = max(0, context.limits.metrics.points - sum(one.points for one in every))
    wanted = [one for one in every if one.attempt == attempt and (not names or one.name in names)]
    return wanted, room
