"""Changes the labels of a job, whatever its state: nothing that runs depends on them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from muster.domain.jobs import Job
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.ports.store import Change

Labels = Mapping[str, str]


async def relabel(context: Context, job_id: str, actor: str, labels: Callable[[Labels], Labels]) -> Job:
    """`labels` makes the new labels from the present ones."""
    entry = context.open_jobs.get(job_id)
    if entry is None:
        job = _relabelled(await context.store.job(job_id), labels)
        await context.store.apply(_change(context, job, actor))
        return job
    async with entry.lock:
        job = _relabelled(entry.job, labels)
        await context.apply(_change(context, job, actor))
        entry.job = job
        return job


def _relabelled(job: Job, labels: Callable[[Labels], Labels]) -> Job:
    return replace(job, spec=replace(job.spec, labels=dict(labels(job.spec.labels))), version=job.version + 1)


def _change(context: Context, job: Job, actor: str) -> Change:
    audit = audit_event("job.label", actor, context.clock(), job=job, labels=dict(job.spec.labels))
    return Change(rewritten_job=job, events=[audit])
