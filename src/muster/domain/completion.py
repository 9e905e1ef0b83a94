"""Completion policy: decides from the tasks, role by role, whether an attempt has succeeded or failed."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from muster.domain.elastic import spec_of_attempt
from muster.domain.failures.exit_causes import PREEMPTED
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.failures.log_patterns import LOST_PEER
from muster.domain.jobs import Job, Outcome, Tally, Verdict
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskStopped, TaskSucceeded

MAX_PLATFORM_RETRIES = 10
"""Faults of the platform do not use up the user's retries, but they are not retried forever."""


def decide(job: Job, tasks: Sequence[Task]) -> Verdict | None:
    """The verdict on the current attempt, or None while it is open.

    The job fails once enough tasks of one role have failed. It succeeds once enough tasks of one role have succeeded,
    or once all tasks have ended without enough failures. If both are reported together, what happened first counts.
    """
    spec = spec_of_attempt(job)
    succeeded_at = _succeeded_at(spec, tasks)
    broken = _failed_role(spec, tasks)
    if broken is not None and (succeeded_at is None or broken[0] <= succeeded_at):
        return failure_verdict(job, root_fault(tasks, broken[1]))
    if succeeded_at is not None:
        return Verdict(Outcome.SUCCEED)
    if all(task.has_ended for task in tasks):
        return Verdict(Outcome.SUCCEED)
    return None


def has_succeeded(job: Job, tasks: Sequence[Task]) -> bool:
    """Whether enough tasks have succeeded, whatever became of the others later."""
    return _succeeded_at(spec_of_attempt(job), tasks) is not None or all(
        isinstance(task.state, TaskSucceeded) for task in tasks
    )


def may_have_succeeded(job: Job, tasks: Sequence[Task], silent: Collection[str]) -> bool:
    """Whether the attempt has only lost tasks, and would be a success if the tasks on the silent nodes had succeeded
    meanwhile."""
    if any(isinstance(task.state, TaskFailed) for task in tasks):
        return False
    supposed = [
        replace(task, state=TaskSucceeded(0.0)) if not task.has_ended and task.placement.node in silent else task
        for task in tasks
    ]
    return _succeeded_at(spec_of_attempt(job), supposed) is not None


def failure_verdict(job: Job, fault: Fault) -> Verdict:
    """Retries what a retry can help. A fault of the platform counts against the platform's retries, not the user's."""
    if not fault.retryable:
        return Verdict(Outcome.FAIL, fault.cause, fault)
    if fault.counts_against_retries:
        again = job.retries < job.spec.retry_max
    else:
        again = job.platform_retries < MAX_PLATFORM_RETRIES
    return Verdict(Outcome.RETRY if again else Outcome.FAIL, fault.cause, fault)


def root_fault(tasks: Sequence[Task], fault: Fault) -> Fault:
    """The fault to blame for the end of a gang in which `fault` was seen first. Failures are reported in any order, and
    most are consequences of one: a full disk ends one task, and the end of its connections the others. So a task that
    says what it died of comes before one that has lost a peer, and a fault of the platform before one of the user."""
    faults = [task.state.fault for task in _by_end(tasks) if isinstance(task.state, TaskFailed)]
    return min([fault, *faults], key=lambda one: (one.code in LOST_PEER, one.counts_against_retries))


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
        words={"limit": limit},
    )


def preempted_fault(reason: str) -> Fault:
    """The fault of a job that does not go back to the queue when it was preempted."""
    return Fault(FaultKind.CAPACITY, PREEMPTED, reason, "The server that has handed it on tries it again.")


def _by_end(tasks: Sequence[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: (task.ended_at or math.inf, task.rank))


def _succeeded_at(spec: JobSpec, tasks: Sequence[Task]) -> float | None:
    """When enough tasks of one role had succeeded, or None if they have not."""
    for role in spec.roles:
        needed = role.completion.min_succeeded
        times = sorted(
            task.state.at for task in tasks if task.role == role.name and isinstance(task.state, TaskSucceeded)
        )
        if needed is not None and len(times) >= needed:
            return times[needed - 1] if needed > 0 else 0.0
    return None


def _failed_at(state: TaskFailed | TaskLost) -> float:
    """When a task was lost is not known, only when that was noticed. So a success that was reported comes first."""
    return math.inf if isinstance(state, TaskLost) else state.at


def _failed_role(spec: JobSpec, tasks: Sequence[Task]) -> tuple[float, Fault] | None:
    """The earliest fault in the first role that had too many failures, and when it had."""
    for role in spec.roles:
        faults = [
            (_failed_at(task.state), task.state.at, task.rank, task.state.fault)
            for task in tasks
            if task.role == role.name and isinstance(task.state, TaskFailed | TaskLost)
        ]
        limit = role.completion.min_failed
        if limit is not None and len(faults) >= limit:
            since = sorted(fault[0] for fault in faults)[max(limit, 1) - 1]
            return since, min(faults, key=lambda item: item[1:3])[3]
    return None
