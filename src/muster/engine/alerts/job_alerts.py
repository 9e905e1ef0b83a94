"""Alerts of jobs: those that wait for somebody to act, and those that have GPUs and do not use them."""

from collections.abc import Iterator

from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject, SubjectType
from muster.domain.jobs import Held, Job, Queued, Running, Starting
from muster.domain.tasks import TaskWaiting
from muster.domain.used_resources import UsedGpu
from muster.engine.alerts.concerned import Concerned
from muster.engine.context import Context
from muster.engine.requests.explaining import live_reason
from muster.engine.requests.job_usage import live_usage
from muster.engine.state.open_jobs import Entry
from muster.lib.quantities import about_duration

_WAITING_DOES_NOT_HELP = frozenset({"never", "not-in-order"})
"""The codes of the scheduler's reasons for which a job waits until somebody changes it, or a node."""
_IDLE_AFTER_S = 900.0
"""A shorter run says little: it may still read its data."""
_USED_PERCENT = 5.0
"""A GPU that was never busier than this was not used."""


def job_alerts(context: Context, concerned: Concerned) -> Iterator[Alert]:
    """Yield the alerts of all jobs to admins, and of their own jobs to others."""
    user = concerned.user
    for entry in context.open_jobs.entries():
        if user.is_admin or entry.job.owner == user.name:
            yield from _of_job(context, entry, is_mine=entry.job.owner == user.name)


def _of_job(context: Context, entry: Entry, *, is_mine: bool) -> Iterator[Alert]:
    job = entry.job
    match job.state:
        case Held(since=since, by=None) if job.reason:
            message = f"job {job.name} is held: {job.reason}"
            advice = f"`muster move {job.name} --to CLUSTER`, or ask an admin"
            yield _needs_action(job, message, advice, since, {"code": "held"}, is_mine=is_mine)
        case Queued(since=since) | Starting(since=since) if _is_stuck(context, entry):
            reason = live_reason(context, job)
            if reason is not None:
                message = f"job {job.name} does not start by itself: {reason.message}"
                numbers = {"code": reason.code, **reason.numbers}
                yield _needs_action(job, message, reason.change, since, numbers, is_mine=is_mine)
        case Running():
            gpus = _idle_gpus(context, entry)
            if gpus:
                yield _idle(job, gpus, is_mine=is_mine)
        case _:
            return


def _is_stuck(context: Context, entry: Entry) -> bool:
    if isinstance(entry.job.state, Starting):
        return any(isinstance(task.state, TaskWaiting) and task.state.needs_action for task in entry.tasks.values())
    cluster = context.clusters.get(entry.job.cluster)
    reason = cluster.reason(entry.job.id) if cluster is not None else None
    return reason is not None and reason.code in _WAITING_DOES_NOT_HELP


def _needs_action(
    job: Job, message: str, advice: str, since: float, numbers: dict[str, int | float | str], *, is_mine: bool
) -> Alert:
    severity = Severity.WARNING
    return Alert(AlertKind.JOB_NEEDS_ACTION, severity, _subject(job), message, advice, since, numbers, is_mine)


def _idle_gpus(context: Context, entry: Entry) -> list[UsedGpu]:
    """All GPUs of a running job, if none of them was ever used; empty if one was, or if it is too early to tell."""
    if not any(task.placement.devices for task in entry.tasks.values()):
        return []
    live = live_usage(context, entry.job)
    gpus = [gpu for used in live.values() if used is not None for gpu in used.gpus]
    asked = sum(len(task.placement.devices) for task in entry.tasks.values() if not task.has_ended)
    is_idle = all(
        gpu.sampled_s >= _IDLE_AFTER_S and gpu.peak_percent is not None and gpu.peak_percent <= _USED_PERCENT
        for gpu in gpus
    )
    return gpus if is_idle and len(gpus) == asked else []


def _idle(job: Job, gpus: list[UsedGpu], *, is_mine: bool) -> Alert:
    count, seconds = len(gpus), min(gpu.sampled_s for gpu in gpus)
    what = "its GPU" if count == 1 else f"any of its {count} GPUs"
    return Alert(
        AlertKind.IDLE_ALLOCATION,
        Severity.WARNING,
        _subject(job),
        f"job {job.name} has not used {what} for {about_duration(seconds)}",
        f"look whether it hangs: `muster logs {job.name}`; others may wait for what it holds",
        job.started_at,
        {"gpus": count, "seconds": round(seconds), "owner": job.owner},
        is_mine,
    )


def _subject(job: Job) -> Subject:
    return Subject(SubjectType.JOB, job.name, job.cluster, job.id)
