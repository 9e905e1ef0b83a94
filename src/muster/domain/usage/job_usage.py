"""What a job asked for, how long it waited and ran, and what it used: by task, by attempt, and all together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster.domain.jobs import Held, Job, Queued
from muster.domain.resources import WHOLE_GPU
from muster.domain.tasks import Task
from muster.domain.used_resources import UsageSum, UsedResources, sum_of


@dataclass(frozen=True, slots=True)
class TaskUse:
    """`task` has what it has used so far, also while it runs."""

    task: Task
    run_s: float
    cpu_m: int
    memory_bytes: int
    gpu_m: int
    """What its role asks for."""

    @property
    def mean_cores(self) -> float | None:
        used = self.task.used
        return used.cpu_s / self.run_s if used is not None and used.cpu_s is not None and self.run_s > 0 else None


@dataclass(frozen=True, slots=True)
class AttemptUse:
    attempt: int
    wait_s: float | None
    """The time from the submission, or the end of the attempt before, to the first start of a task. None while none has
    started."""
    run_s: float
    gpu_s: float
    """The seconds for which its GPUs were allocated while its tasks ran."""
    used: UsageSum
    tasks: tuple[TaskUse, ...]


@dataclass(frozen=True, slots=True)
class JobUse:
    attempts: tuple[AttemptUse, ...]
    wait_s: float
    """How long it waited in all, also between attempts, and until now if it waits."""
    run_s: float
    gpu_s: float
    used: UsageSum


def with_live(task: Task, live: Mapping[str, UsedResources | None]) -> Task:
    """The task with what it has used so far, if it still runs and somebody measures it."""
    return task if task.used is not None or task.id not in live else replace(task, used=live[task.id])


def job_use(job: Job, tasks: Sequence[Task], now: float) -> JobUse:
    by_attempt: dict[int, list[Task]] = {}
    for task in tasks:
        by_attempt.setdefault(task.attempt, []).append(task)
    attempts: list[AttemptUse] = []
    waits_since = job.created_at
    for number, gang in sorted(by_attempt.items()):
        attempt = _attempt(job, number, gang, waits_since, now)
        attempts.append(attempt)
        waits_since = max((task.ended_at or waits_since for task in gang), default=waits_since)
    wait_s = sum(attempt.wait_s or 0.0 for attempt in attempts)
    if _waits(job, attempts):
        wait_s += max(0.0, (job.ended_at or now) - waits_since)
    return JobUse(
        tuple(attempts),
        wait_s,
        sum(attempt.run_s for attempt in attempts),
        sum(attempt.gpu_s for attempt in attempts),
        sum_of(use.task.used for attempt in attempts for use in attempt.tasks),
    )


def _waits(job: Job, attempts: Sequence[AttemptUse]) -> bool:
    """Whether the job waits now, or waited until its end."""
    if not attempts or attempts[-1].wait_s is None:
        return True
    return isinstance(job.state, Queued | Held)


def run_s(task: Task, now: float) -> float:
    return 0.0 if task.started_at is None else max(0.0, (task.ended_at or now) - task.started_at)


def _attempt(job: Job, number: int, gang: Sequence[Task], waits_since: float, now: float) -> AttemptUse:
    uses = tuple(_use(job, task, now) for task in gang)
    starts = [task.started_at for task in gang if task.started_at is not None]
    ends = [now if task.ended_at is None else task.ended_at for task in gang if task.started_at is not None]
    return AttemptUse(
        number,
        max(0.0, min(starts) - waits_since) if starts else None,
        max(0.0, max(ends) - min(starts)) if starts else 0.0,
        sum(use.run_s * use.gpu_m / WHOLE_GPU for use in uses),
        sum_of(task.used for task in gang),
        uses,
    )


def _use(job: Job, task: Task, now: float) -> TaskUse:
    role = next((role for role in job.spec.roles if role.name == task.role), None)
    if role is None:
        return TaskUse(task, run_s(task, now), 0, 0, 0)
    asked = role.resources
    return TaskUse(task, run_s(task, now), asked.cpu_m, asked.memory_bytes, asked.gpu_m)
