"""Completion policy: decides from the tasks, role by role, whether an attempt has succeeded or failed."""

from collections.abc import Sequence

from muster.domain.elastic import spec_of_attempt
from muster.domain.faults import Fault, FaultKind
from muster.domain.jobs import Job, Outcome, Tally, Verdict
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskStopped, TaskSucceeded

MAX_PLATFORM_RETRIES = 10
"""Faults of the platform do not use up the user's retries, but they are not retried forever."""


def decide(job: Job, tasks: Sequence[Task]) -> Verdict | None:
    """The verdict on the current attempt, or None while it is open.

    The job fails once enough tasks of one role have failed. It succeeds once enough tasks of one role have succeeded,
    or once all tasks have ended without enough failures.
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
    """Retries what a retry can help. A fault of the platform counts against the platform's retries, not the user's."""
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
        "Raise timeLimit, or let the job save checkpoints and resume from them.",
    )


def _failed_role(spec: JobSpec, tasks: Sequence[Task]) -> Fault | None:
    """The earliest fault in the first role that had too many failures."""
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
