"""When a job is decided: by its tasks, role by role."""

from collections.abc import Sequence

from muster.domain.elastic import spec_of_attempt
from muster.domain.faults import Fault, FaultKind
from muster.domain.jobs import Job, Outcome, Tally, Verdict
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskStopped, TaskSucceeded

MAX_PLATFORM_RETRIES = 10
"""Faults of the platform are retried on its own account, but not for ever."""


def decide(job: Job, tasks: Sequence[Task]) -> Verdict | None:
    """The verdict on the current attempt, or None while it is open.

    Enough failures of one role fail the job; enough successes of one role end it well; when all tasks have ended and
    neither happened, it ended well.
    """
    spec = spec_of_attempt(job)
    if broken := _failed_role(spec, tasks):
        return failure_verdict(job, broken)
    for role in spec.roles:
        succeeded = sum(isinstance(task.state, TaskSucceeded) for task in tasks if task.role == role.name)
        if role.completion.min_succeeded is not None and succeeded >= role.completion.min_succeeded:
            return Verdict(Outcome.SUCCEED)
    if all(task.has_ended for task in tasks):
        return Verdict(Outcome.SUCCEED)
    return None


def failure_verdict(job: Job, fault: Fault) -> Verdict:
    """Retry what retrying can help: on the platform's account when the fault is its own, else on the user's."""
    if not fault.retryable:
        return Verdict(Outcome.FAIL, fault.cause, fault)
    if fault.counts_against_retries:
        again = job.retries < job.spec.retry_max
    else:
        again = job.platform_retries < MAX_PLATFORM_RETRIES
    return Verdict(Outcome.RETRY if again else Outcome.FAIL, fault.cause, fault)


def tally(tasks: Sequence[Task]) -> Tally:
    succeeded = sum(isinstance(task.state, TaskSucceeded) for task in tasks)
    failed = sum(isinstance(task.state, TaskFailed | TaskLost) for task in tasks)
    stopped = sum(isinstance(task.state, TaskStopped) for task in tasks)
    return Tally(succeeded, failed, len(tasks) - succeeded - failed - stopped)


def time_limit_fault(limit: str) -> Fault:
    return Fault(
        FaultKind.LIMIT,
        "time-limit",
        f"The job ran longer than its time limit of {limit}.",
        "Raise timeLimit, or let the job write checkpoints and go on from them.",
    )


def _failed_role(spec: JobSpec, tasks: Sequence[Task]) -> Fault | None:
    """The fault of the task that tipped its role over, the earliest when several did."""
    for role in spec.roles:
        faults = [
            (task.state.at, task.rank, task.state.fault)
            for task in tasks
            if task.role == role.name and isinstance(task.state, TaskFailed | TaskLost)
        ]
        limit = role.completion.min_failed
        if limit is not None and len(faults) >= limit:
            return min(faults, key=lambda item: item[:2])[2]
    return None
