"""Every cell of both move tables: what is legal moves and sets its times, what is not is a Conflict."""

import pytest

from muster.domain import jobs, tasks
from muster.domain.errors import Conflict
from muster.domain.jobs import (
    Cancelled,
    Failed,
    Held,
    JobState,
    Outcome,
    Queued,
    Running,
    Starting,
    Stopping,
    Succeeded,
    Verdict,
)  # fmt: skip
from muster.domain.resources import Placement
from muster.domain.tasks import (
    Task,
    TaskFailed,
    TaskLaunching,
    TaskLost,
    TaskPreparing,
    TaskRunning,
    TaskState,
    TaskStopped,
    TaskStopping,
    TaskSucceeded,
    TaskWaiting,
)  # fmt: skip
from tests.parts.building import PLATFORM_FAULT, USER_FAULT, a_job

pytestmark = pytest.mark.fast

JOB_STATES: list[JobState] = [
    Queued(5.0), Held(5.0), Starting(5.0), Running(5.0), Stopping(5.0, Verdict(Outcome.SUCCEED)), Succeeded(5.0),
    Failed(5.0, USER_FAULT), Cancelled(5.0, "amy"),
]  # fmt: skip
# Rows: from; columns in the order of JOB_STATES: to.
JOB_TABLE = {
    "Queued":    "- H S - - - F C",
    "Held":      "Q - - - - - - C",
    "Starting":  "- - - R s - - -",
    "Running":   "- - - - s - - -",
    "Stopping":  "Q H - - s U F C",
    "Succeeded": "- - - - - - - -",
    "Failed":    "- - - - - - - -",
    "Cancelled": "- - - - - - - -",
}  # fmt: skip
TASK_STATES: list[TaskState] = [
    TaskLaunching(5.0), TaskWaiting(5.0, "Resources"), TaskPreparing(5.0), TaskRunning(5.0), TaskStopping(5.0),
    TaskSucceeded(5.0), TaskFailed(5.0, USER_FAULT), TaskStopped(5.0), TaskLost(5.0, PLATFORM_FAULT),
]  # fmt: skip
TASK_TABLE = {
    "Launching": "- W P R S U F D X",
    "Waiting":   "- W P R S U F D X",
    "Preparing": "- - - R S U F D X",
    "Running":   "- - - - S U F D X",
    "Stopping":  "- - - - - U F D X",
    "Succeeded": "- - - - - - - - -",
    "Failed":    "- - - - - - - - -",
    "Stopped":   "- - - - - - - - -",
    "Lost":      "- - - - - - - - -",
}  # fmt: skip


def _job_cells() -> list[tuple[JobState, JobState, bool]]:
    return [
        (before, after, cell != "-")
        for before in JOB_STATES
        for after, cell in zip(JOB_STATES, JOB_TABLE[type(before).__name__].split(), strict=True)
    ]


def _task_cells() -> list[tuple[TaskState, TaskState, bool]]:
    return [
        (before, after, cell != "-")
        for before in TASK_STATES
        for after, cell in zip(TASK_STATES, TASK_TABLE[type(before).__name__.removeprefix("Task")].split(), strict=True)
    ]


def _a_task(state: TaskState) -> Task:
    return Task("j1.1.worker.0", "j1", 1, "job-worker-0", "worker", 0, 0, Placement("n1"), state)


def test_the_tables_here_name_every_state() -> None:
    assert {type(state) for state in JOB_STATES} == set(jobs.LEGAL) == set(jobs.JOB_STATES.values())
    assert {type(state) for state in TASK_STATES} == set(tasks.LEGAL) == set(tasks.TASK_STATES.values())


@pytest.mark.parametrize(("before", "after", "legal"), _job_cells())
def test_every_cell_of_the_job_table(before: JobState, after: JobState, legal: bool) -> None:
    job = a_job(state=before)
    if not legal:
        with pytest.raises(Conflict, match=f"is {type(before).__name__} and cannot become {type(after).__name__}"):
            jobs.move(job, after)
        return
    moved = jobs.move(job, after)
    assert moved.state is after
    assert moved.version == job.version + 1


@pytest.mark.parametrize(("before", "after", "legal"), _task_cells())
def test_every_cell_of_the_task_table(before: TaskState, after: TaskState, legal: bool) -> None:
    task = _a_task(before)
    if not legal:
        with pytest.raises(Conflict, match="cannot become"):
            tasks.move_task(task, after)
        return
    assert tasks.move_task(task, after).state is after


def test_final_states_lead_nowhere_and_all_others_lead_to_an_end() -> None:
    assert {state for state, after in jobs.LEGAL.items() if not after} == set(jobs.FINAL)
    assert {state for state, after in tasks.LEGAL.items() if not after} == set(tasks.ENDED)


def test_a_start_is_a_new_attempt() -> None:
    assert jobs.move(a_job(), Starting(3.0)).attempt == 1


def test_the_first_start_of_running_is_kept_through_attempts() -> None:
    once = jobs.move(a_job(state=Starting(2.0)), Running(3.0))
    assert once.started_at == 3.0
    again = jobs.move(jobs.move(once, Stopping(4.0, Verdict(Outcome.RETRY))), Queued(5.0))
    assert again.ended_at is None
    assert jobs.move(jobs.move(again, Starting(6.0)), Running(7.0)).started_at == 3.0


@pytest.mark.parametrize("state", [Succeeded(9.0), Failed(9.0, USER_FAULT), Cancelled(9.0)])
def test_an_end_has_its_time(state: JobState) -> None:
    assert jobs.move(a_job(state=Stopping(1.0, Verdict(Outcome.FAIL))), state).ended_at == 9.0


def test_a_reason_stays_until_another_is_given() -> None:
    held = jobs.move(a_job(), Held(2.0), reason="held by amy")
    assert held.reason == "held by amy"
    assert jobs.move(held, Queued(3.0)).reason == "held by amy"
    assert jobs.move(held, Queued(3.0), reason="").reason == ""


def test_task_times_are_those_of_running_and_ending() -> None:
    running = tasks.move_task(_a_task(TaskLaunching(1.0)), TaskRunning(2.0))
    assert (running.started_at, running.ended_at) == (2.0, None)
    ended = tasks.move_task(running, TaskLost(3.0, PLATFORM_FAULT))
    assert (ended.started_at, ended.ended_at) == (2.0, 3.0)
    assert ended.has_ended


def test_a_task_is_known_by_job_attempt_role_and_index() -> None:
    assert tasks.task_id("abc", 2, "worker", 3) == "abc.2.worker.3"
