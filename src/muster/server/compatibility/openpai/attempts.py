"""One try of a job, from what its tasks did. OpenPAI counts tries from 0, Muster counts attempts from 1.

Muster tries a job again as a whole, so that each task has exactly one try in each try of its job.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.domain.failures.faults import Fault
from muster.domain.jobs import Failed, Held, Job, Queued
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskSucceeded
from muster.server.compatibility.openpai.errors import PaiError
from muster.server.compatibility.openpai.exit_codes import fault_code, job_exit_code
from muster.server.compatibility.openpai.exit_specs import ENDED_WITH_JOB, SUCCEEDED
from muster.server.compatibility.openpai.states import job_word
from muster.server.services import Services


@dataclass(frozen=True, slots=True)
class Attempt:
    number: int
    """The number of the attempt as Muster counts; 0 before the first."""
    state: str
    tasks: tuple[Task, ...] = ()
    exit_code: int | None = None
    fault: Fault | None = None
    trigger: Task | None = None
    """The task whose failure ended the attempt."""
    launched_at: float | None = None
    ended_at: float | None = None

    @property
    def has_ended(self) -> bool:
        return self.exit_code is not None


async def attempt_of(parts: Services, job: Job, index: int | None = None) -> Attempt:
    """The try with OpenPAI's number, or the last one. Raises PaiError if the job was not tried so often."""
    number = job.attempt if index is None else index + 1
    if index is not None and not 1 <= number <= max(job.attempt, 1):
        raise PaiError(404, "NoJobError", f"{job.name} has no attempt {index}")
    tasks = tuple(await parts.context.store.tasks(job.id, max(number, 1)))
    is_over = number < job.attempt or (index is not None and isinstance(job.state, Queued | Held))
    return _former(number, tasks) if is_over and tasks else _last(job, tasks)


def _last(job: Job, tasks: tuple[Task, ...]) -> Attempt:
    fault = job.state.fault if isinstance(job.state, Failed) else None
    return Attempt(
        job.attempt,
        job_word(job.state).state,
        tasks,
        job_exit_code(job.state),
        fault,
        _trigger(tasks) if fault is not None else None,
        _launched_at(tasks),
        job.ended_at,
    )


def _former(number: int, tasks: tuple[Task, ...]) -> Attempt:
    ended_at = max((task.ended_at or 0.0 for task in tasks), default=0.0) or None
    trigger = _trigger(tasks)
    if trigger is not None:
        assert isinstance(trigger.state, TaskFailed | TaskLost)
        fault = trigger.state.fault
        state, code = "FAILED", fault_code(fault)
        return Attempt(number, state, tasks, code, fault, trigger, _launched_at(tasks), ended_at)
    has_succeeded = all(isinstance(task.state, TaskSucceeded) for task in tasks)
    state, code = ("SUCCEEDED", SUCCEEDED) if has_succeeded else ("STOPPED", ENDED_WITH_JOB)
    return Attempt(number, state, tasks, code, None, None, _launched_at(tasks), ended_at)


def _trigger(tasks: Sequence[Task]) -> Task | None:
    failed = [task for task in tasks if isinstance(task.state, TaskFailed | TaskLost)]
    return min(failed, key=lambda task: (task.ended_at or 0.0, task.rank), default=None)


def _launched_at(tasks: Sequence[Task]) -> float | None:
    return min((task.started_at for task in tasks if task.started_at is not None), default=None)
