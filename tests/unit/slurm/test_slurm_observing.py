"""What is observed of a task, from its own marks and from the state of its job."""

import subprocess
import sys

import pytest

from muster.agent.batch.bootstrap import BOOTSTRAP
from muster.agent.batch.link import ADDRESSES, TOKEN
from muster.backends.slurm.answers.exit_codes import JobExit
from muster.backends.slurm.answers.job_facts import ENDS, JobEnd, JobFacts, job_facts
from muster.backends.slurm.answers.job_records import JobRecord, first_parts
from muster.backends.slurm.answers.job_states import EndKind
from muster.backends.slurm.gang_marks import Begin, End, GangMarks, TaskMarks
from muster.backends.slurm.observing import kept_end, observation, observations
from muster.domain.failures.exit_causes import ENGINE_LIMIT, ENGINE_START, LOGIN_UNREACHABLE, PREEMPTED, REQUEUED
from muster.ports.backend import Observation, Phase

pytestmark = pytest.mark.fast
BEGIN = Begin(10.0, "n1")


def seen(marks: TaskMarks, *words: str, reason: str = "", restarts: int = 0) -> Observation:
    record = JobRecord(7, words, reason=reason, ended_at=30.0, restarts=restarts)
    return observation(marks, "7", job_facts(record) if words else None)


def test_a_waiting_task_has_no_node_and_slurms_own_reason() -> None:
    found = seen(TaskMarks("t"), "PENDING", reason="Resources")
    assert (found.phase, found.node) == (Phase.WAITING, None)
    assert "(Resources)" in found.wait_reason


@pytest.mark.parametrize(
    ("reason", "needs_action"), [("Resources", False), ("PartitionConfig", True), ("PartitionTimeLimit", True)]
)
def test_a_task_that_cannot_start_by_waiting_needs_somebody(reason: str, needs_action: bool) -> None:
    assert seen(TaskMarks("t"), "PENDING", reason=reason).needs_action is needs_action


def test_a_task_whose_job_has_nodes_waits_until_it_has_begun() -> None:
    assert seen(TaskMarks("t"), "RUNNING").phase is Phase.WAITING
    found = seen(TaskMarks("t", BEGIN), "RUNNING")
    assert (found.phase, found.node, found.started_at) == (Phase.RUNNING, "n1", 10.0)


@pytest.mark.parametrize("words", [("RUNNING",), ("COMPLETING",), ("FAILED",), ("CANCELLED",), ()])
def test_the_end_that_a_task_wrote_down_counts_whatever_slurm_says(words: tuple[str, ...]) -> None:
    found = seen(TaskMarks("t", BEGIN, End(20.0, exit_code=3)), *words)
    assert (found.phase, found.exit_code, found.ended_at, found.cancelled) == (Phase.ENDED, 3, 20.0, "")


def test_tasks_of_a_part_that_somebody_cancelled_are_cancelled_while_the_rest_of_the_job_goes_on() -> None:
    parts = [
        JobRecord(7, ("RUNNING",), het_job_id=7, het_offset=0),
        JobRecord(8, ("CANCELLED",), het_job_id=7, het_offset=1, ended_at=30.0),
    ]
    facts = job_facts(first_parts(parts)[7])
    killed = TaskMarks("t", BEGIN, End(20.0, signal=15, is_from_outside=True))

    assert observation(killed, "7", facts).cancelled == "its job 7 was cancelled in Slurm"
    assert observation(TaskMarks("t", BEGIN), "7", facts).phase is Phase.RUNNING
    assert not observation(TaskMarks("t", BEGIN, End(20.0, exit_code=3)), "7", facts).cancelled


@pytest.mark.parametrize("word", ["RUNNING", "COMPLETING", "COMPLETED", "FAILED"])
def test_part_that_ends_by_itself_says_nothing_of_the_job(word: str) -> None:
    parts = [
        JobRecord(7, ("RUNNING",), het_job_id=7, het_offset=0),
        JobRecord(8, (word,), het_job_id=7, het_offset=1, ended_at=30.0),
    ]
    assert job_facts(first_parts(parts)[7]).part_end is None


def test_a_task_that_slurm_ended_is_not_a_failure_of_its_program() -> None:
    ended = TaskMarks("t", BEGIN, End(20.0, signal=15, is_from_outside=True))
    assert seen(ended, "COMPLETING").phase is Phase.RUNNING
    assert seen(ended, "CANCELLED").cancelled
    assert seen(ended, "TIMEOUT").error_code == ENGINE_LIMIT
    assert seen(ended, "PREEMPTED").error_code == PREEMPTED
    assert seen(ended, "NODE_FAIL").phase is Phase.LOST


def test_a_task_that_muster_stopped_is_stopped_however_its_job_ended() -> None:
    found = seen(TaskMarks("t", is_ordered=True), "CANCELLED")
    assert (found.phase, found.stopped, found.cancelled) == (Phase.ENDED, True, "")


def test_a_task_of_a_job_that_slurm_forgot_is_lost() -> None:
    assert seen(TaskMarks("t", BEGIN)).phase is Phase.LOST


def test_a_requeued_job_is_over_for_muster() -> None:
    found = seen(TaskMarks("t", BEGIN), "PENDING", restarts=1)
    assert (found.phase, found.error_code) == (Phase.ENDED, REQUEUED)


@pytest.mark.parametrize(
    ("login", "phase", "error_code"),
    [
        pytest.param("no-such-host.invalid,1", Phase.ENDED, LOGIN_UNREACHABLE, id="no way there"),
        pytest.param("no-such-host.invalid,127.0.0.1,1", Phase.LOST, "", id="its agent is away"),
    ],
)
def test_nodes_without_a_way_to_the_login_node_are_no_lost_task(
    monkeypatch: pytest.MonkeyPatch, login: str, phase: Phase, error_code: str
) -> None:
    monkeypatch.setenv(ADDRESSES, login)
    monkeypatch.setenv(TOKEN, "a token")
    script = [sys.executable, "-I", "-S", "-c", BOOTSTRAP, "coordinator", "job.1"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert "no login node or coordinator answers" in done.stderr

    record = JobRecord(7, ("FAILED",), exit=JobExit(done.returncode), ended_at=30.0)
    found = observation(TaskMarks("t"), "7", job_facts(record))

    assert (found.phase, found.error_code) == (phase, error_code)


def test_nodes_without_a_way_to_the_login_node_say_where_they_looked_for_it() -> None:
    record = JobRecord(7, ("FAILED",), exit=JobExit(69), ended_at=30.0)
    gang = GangMarks("job.1", "7", "train.job.1", (TaskMarks("t"),), relay="login,10.0.0.5,192.168.1.7,4711")
    (found,) = observations(gang, job_facts(record))
    assert found.error_code == LOGIN_UNREACHABLE
    assert found.error_message.endswith("could not connect to it at login, 10.0.0.5, 192.168.1.7, port 4711")


def test_every_end_of_slurm_has_a_row() -> None:
    assert set(ENDS) == set(EndKind)


def test_an_end_that_only_slurm_knew_is_the_same_when_it_was_kept() -> None:
    facts = JobFacts("7", end=JobEnd(30.0, is_oom=True, message="too much"))
    first = observation(TaskMarks("t", BEGIN), "7", facts)
    kept = TaskMarks("t", BEGIN, End(30.0, kept=kept_end(first)))
    assert observation(kept, "7", None) == first


def given_up(*words: str, exit_code: JobExit | None = None, begin: Begin | None = None) -> Observation:
    """What is told of the second of two tasks, of which the first may have begun, on a node that Slurm had given."""
    record = JobRecord(7, words, ended_at=30.0, nodes=("n1",), exit=exit_code or JobExit(0))
    gang = GangMarks("job.1", "7", "train.job.1", (TaskMarks("first", begin), TaskMarks("second")))
    return list(observations(gang, job_facts(record)))[1]


@pytest.mark.parametrize("words", ["CANCELLED", "CANCELLED by 0"])
def test_a_job_that_slurm_gave_up_before_it_started_is_not_cancelled(words: str) -> None:
    found = given_up(words)
    assert (found.phase, found.error_code, found.cancelled) == (Phase.ENDED, ENGINE_START, "")
    assert found.error_message == "Slurm gave job 7 up on n1 before it started; a prolog of the cluster has failed"


def test_a_job_that_somebody_cancelled_before_it_started_is_cancelled() -> None:
    assert given_up("CANCELLED by 1000").cancelled


@pytest.mark.parametrize("code", [JobExit(None, 15), JobExit(143)])
def test_a_job_whose_script_was_killed_is_cancelled(code: JobExit) -> None:
    assert given_up("CANCELLED", exit_code=code).cancelled


def test_a_job_that_has_begun_is_cancelled() -> None:
    assert given_up("CANCELLED", begin=BEGIN).cancelled


def test_a_job_that_is_cancelled_while_it_waits_is_cancelled() -> None:
    assert seen(TaskMarks("t"), "CANCELLED").cancelled


@pytest.mark.parametrize(
    ("words", "reason", "phase", "error_code"),
    [
        (("PENDING",), "launch failed requeued held", Phase.ENDED, ENGINE_START),
        (("PENDING",), "JobLaunchFailure", Phase.ENDED, ENGINE_START),
        (("PENDING", "REQUEUED"), "BeginTime", Phase.ENDED, REQUEUED),
        (("REQUEUE_HOLD",), "JobHeldAdmin", Phase.ENDED, REQUEUED),
        (("RUNNING",), "None", Phase.ENDED, REQUEUED),
        (("PREEMPTED", "REQUEUED"), "BeginTime", Phase.ENDED, PREEMPTED),
        (("NODE_FAIL", "REQUEUED"), "NodeDown", Phase.LOST, ""),
    ],
)
def test_a_requeued_job_is_over_and_must_leave_slurm(
    words: tuple[str, ...], reason: str, phase: Phase, error_code: str
) -> None:
    found = seen(TaskMarks("t", BEGIN), *words, reason=reason, restarts=1)
    assert (found.phase, found.error_code, found.cancelled) == (phase, error_code, "")
    assert job_facts(JobRecord(7, words, reason=reason, restarts=1)).is_left


def test_a_job_that_has_ended_after_a_requeue_has_left_slurm() -> None:
    assert not job_facts(JobRecord(7, ("CANCELLED",), restarts=1)).is_left


_NO_PROCESS = End(20.0, error_code="start-failed", error_message="srun started no process", is_unless_slurm_knows=True)


def test_start_that_failed_while_somebody_cancelled_the_job_is_cancelled() -> None:
    found = seen(TaskMarks("t", end=_NO_PROCESS), "CANCELLED by 1000")
    assert (found.phase, found.error_code) == (Phase.ENDED, "")
    assert found.cancelled


@pytest.mark.parametrize("state", ["FAILED", "COMPLETED", None])
def test_start_that_failed_is_told_with_its_cause_if_slurm_says_nothing_else(state: str | None) -> None:
    found = seen(TaskMarks("t", end=_NO_PROCESS), *([state] if state else []))
    assert (found.phase, found.error_code, found.error_message) == (
        Phase.ENDED,
        "start-failed",
        "srun started no process",
    )


def test_start_that_failed_is_told_when_the_job_is_over() -> None:
    found = seen(TaskMarks("t", end=_NO_PROCESS), "RUNNING")
    assert found.phase is Phase.WAITING


def test_step_that_somebody_cancelled_is_cancelled() -> None:
    kept = {"phase": "ended", "cancelled": "its step of job 7 was cancelled in Slurm"}
    found = seen(TaskMarks("t", BEGIN, End(20.0, kept=kept, is_unless_slurm_knows=True)), "FAILED")
    assert found.cancelled == "its step of job 7 was cancelled in Slurm"
