"""The queue: the jobs that run, then those that wait, in the order in which the scheduler looks at them."""

from dataclasses import dataclass

from muster.domain.jobs import HOLDING, Job, Queued
from muster.engine.context import Context


@dataclass(frozen=True, slots=True)
class QueuedJob:
    job: Job
    position: int | None
    """Its place among the jobs that wait on its cluster, beginning at 1; None if it runs or is held."""


def queue(context: Context, cluster: str | None) -> list[QueuedJob]:
    """The open jobs of one cluster or of all. A job that the scheduler does not look at yet, because it waits for a
    time or for another job, comes after those that it looks at, and held ones come last."""
    found = [entry.job for entry in context.open_jobs.entries() if cluster in (None, entry.job.cluster)]
    places = {
        job_id: place
        for name, state in context.clusters.items()
        if cluster in (None, name)
        for place, job_id in enumerate(state.waiting_order(), start=1)
    }
    return sorted((QueuedJob(job, places.get(job.id)) for job in found), key=_order)


def _order(queued: QueuedJob) -> tuple[int, str, float, float, str]:
    job = queued.job
    if isinstance(job.state, HOLDING):
        return 0, job.cluster, 0.0, job.started_at or job.created_at, job.id
    if queued.position is not None:
        return 1, job.cluster, float(queued.position), 0.0, job.id
    return (2 if isinstance(job.state, Queued) else 3), job.cluster, 0.0, job.created_at, job.id
