"""Builds events, one for every move of a job or task, so that the history and live pages agree."""

from muster.domain.audit_kinds import AuditKind
from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.domain.tasks import Task


def job_event(job: Job, now: float, *, actor: str | None = None) -> Event:
    data = {
        "name": job.name,
        "state": job.state_name,
        "reason": job.reason,
        "attempt": job.attempt,
        "succeeded": job.tally.succeeded,
        "failed": job.tally.failed,
        "active": job.tally.active,
    }
    return Event(f"job.{job.state_name.lower()}", now, job.id, actor, job.owner, data)


def checkpoint_event(job: Job, now: float) -> Event:
    assert job.checkpoint_at is not None
    return Event(
        "job.checkpointed",
        now,
        job.id,
        None,
        job.owner,
        {**job_event(job, now).data, "checkpointAt": job.checkpoint_at},
    )


def tracking_event(job: Job, now: float) -> Event:
    data = {**job_event(job, now).data, "trackingUrl": job.tracking_url}
    return Event("job.tracking", now, job.id, None, job.owner, data)


def outputs_event(job: Job, now: float, problem: str, **counts: int) -> Event:
    """The event for the collected outputs of an attempt. Its reason says why they are not complete."""
    return Event("job.outputs", now, job.id, None, job.owner, {**job_event(job, now).data, "reason": problem, **counts})


def task_event(task: Task, owner: str, now: float) -> Event:
    data = {
        "name": task.name,
        "state": task.state_name,
        "attempt": task.attempt,
        "node": task.placement.node,
        "exitCode": task.exit_code,
        "signal": task.signal,
    }
    return Event(f"task.{task.state_name.lower()}", now, task.job_id, None, owner, data)


def audit_event(what: AuditKind, actor: str, now: float, *, job: Job | None = None, **data: object) -> Event:
    """`what` names the call, such as `job.kill`. `data` must hold no secret."""
    if job is None:
        return Event(f"audit.{what}", now, None, actor, actor, data)
    return Event(f"audit.{what}", now, job.id, actor, job.owner, {"name": job.name, **data})
