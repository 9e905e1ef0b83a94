"""Jobs are read from text tables, with everything that a name or comment may contain."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.exit_codes import JobExit
from muster.backends.slurm.answers.job_records import Held, JobRecord, first_parts
from muster.backends.slurm.answers.job_states import EndKind, JobPhase
from muster.backends.slurm.answers.job_tables import past_command, queue_command, read_past, read_queue
from tests.slurm.recording import STRANGE_COMMENT, STRANGE_NAME
from tests.unit.slurm.samples import RECORDED, jobs, recorded

pytestmark = pytest.mark.fast
each_release = pytest.mark.parametrize("release", RECORDED)
WAITING = {
    "held": "JobHeldUser",
    "later": "BeginTime",
    "impossible": "PartitionTimeLimit",
    "large": "Resources",
    "behind": "Priority",
    "all": "Priority",
    "dependent": "Dependency",
    "hopeless": "DependencyNeverSatisfied",
    "array": "JobArrayTaskLimit",
    "preempted": "BeginTime",
}
ENDED = {
    "failed": (EndKind.FAILED, JobExit(3)),
    "killed": (EndKind.FAILED, JobExit(None, 9)),
    "cancelled": (EndKind.CANCELLED, JobExit(None, 15)),
    "late": (EndKind.TIME_LIMIT, JobExit(None, 15)),
    "broken": (EndKind.NODE_FAILURE, JobExit(0)),
}


def queue(release: str) -> dict[int, JobRecord]:
    return {job.job_id: job for job in read_queue(recorded(release, "squeue.txt"))}


def past(release: str) -> dict[int, JobRecord]:
    return {job.job_id: job for job in read_past(recorded(release, "sacct.txt"))}


@each_release
@pytest.mark.parametrize("name", WAITING)
def test_waiting_job_has_its_reason(release: str, name: str) -> None:
    job = queue(release)[jobs(release)[name]]

    assert (job.state.phase, job.reason, job.ended_at, job.exit) == (JobPhase.WAITING, WAITING[name], None, None)


@each_release
@pytest.mark.parametrize("name", ENDED)
def test_ended_job_has_its_end_without_accounting(release: str, name: str) -> None:
    job = queue(release)[jobs(release)[name]]

    assert (job.state.end, job.exit) == ENDED[name]
    assert job.ended_at is not None
    assert job.starts_at is not None
    assert job.ended_at >= job.starts_at


@each_release
def test_job_that_runs(release: str) -> None:
    job = queue(release)[jobs(release)["strange"]]

    assert job.state.phase is JobPhase.RUNNING
    assert job.nodes == ("n1", "n2")
    assert (job.user, job.partition, job.ended_at, job.exit) == ("root", "main", None, None)
    assert (job.name, job.comment) == (STRANGE_NAME, STRANGE_COMMENT)
    assert job.held == (Held(("n1", "n2"), Amounts(2, 200 << 20, {"": 2})),)


@each_release
def test_job_that_slurm_expects_to_start_has_its_estimate(release: str) -> None:
    found = queue(release)
    large, held = (found[jobs(release)[name]] for name in ("large", "held"))

    assert large.starts_at is not None
    assert large.submitted_at is not None
    assert large.starts_at > large.submitted_at
    assert held.starts_at is None


@each_release
def test_preempted_job_waits_again_and_has_a_restart(release: str) -> None:
    found = queue(release)

    assert found[jobs(release)["preempted"]].restarts == 1
    assert found[jobs(release)["large"]].restarts == 0


@each_release
def test_parts_of_a_heterogeneous_job_belong_together(release: str) -> None:
    number = jobs(release)["het"]
    parts = [job for job in queue(release).values() if job.het_job_id == number]

    assert [(part.submitted_id, part.het_offset, part.nodes) for part in parts] == [
        (number, 0, ("n1",)),
        (number, 1, ("n2",)),
    ]
    held = (*parts[0].held, *parts[1].held)
    assert [one.nodes for one in held] == [("n1",), ("n2",)]
    assert first_parts(parts) == {number: replace(parts[0], nodes=("n1", "n2"), held=held)}


@each_release
def test_tasks_of_an_array(release: str) -> None:
    number = jobs(release)["array"]
    tasks = [job for job in queue(release).values() if job.array_job_id == number]

    assert {task.array_tasks: task.state.phase for task in tasks} == {
        "0": JobPhase.RUNNING,
        "1-3%1": JobPhase.WAITING,
    }


@each_release
@pytest.mark.parametrize("name", ENDED)
def test_sacct_knows_the_end_when_slurmctld_has_forgotten_it(release: str, name: str) -> None:
    job = past(release)[jobs(release)[name]]

    assert job.state.end is ENDED[name][0]
    assert job.ended_at is not None


@each_release
def test_sacct_has_the_same_jobs(release: str) -> None:
    by_queue, by_sacct = queue(release), past(release)

    assert set(by_sacct) == set(by_queue)
    for name in ("het", "array", "strange", "failed"):
        one, other = by_queue[jobs(release)[name]], by_sacct[jobs(release)[name]]
        same = ("het_job_id", "het_offset", "array_job_id", "array_tasks", "name", "user", "partition", "submitted_at")
        assert [getattr(one, field) for field in same] == [getattr(other, field) for field in same]


def test_last_run_of_a_requeued_job_counts_in_sacct() -> None:
    row = "7 7 root main {} None 1794969100 1794969200 {} n1 {}  train"
    text = "\n".join(
        row.format(*cells).replace(" ", "\x1f")
        for cells in [("NODE_FAIL", 1794969300, "0:0"), ("COMPLETED", 1794969900, "0:0")]
    )

    (job,) = read_past(text)

    assert (job.state.end, job.ended_at) == (EndKind.SUCCEEDED, 1794969900)


def test_local_times_are_read_in_the_zone_of_the_login_node() -> None:
    cells = ["5", "N/A", "N/A", "5", "N/A", "a", "p", "RUNNING", "None", "2026-11-18T02:00:00", "2026-11-18T02:31:41"]
    text = "\x1f".join([*cells, "NONE", "n1", "", "0", "0", "x", "(null)"]) + "\x1e\n"

    (job,) = read_queue(text, UTC)

    assert job.starts_at == datetime(2026, 11, 18, 2, 31, 41, tzinfo=UTC).timestamp()


def test_reason_may_be_a_sentence() -> None:
    sentence = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    cells = [
        "5",
        "N/A",
        "N/A",
        "5",
        "N/A",
        "a",
        "p",
        "PENDING",
        sentence,
        "N/A",
        "N/A",
        "N/A",
        "",
        "",
        "0",
        "0",
        "x",
        "y",
    ]

    assert next(read_queue("\x1f".join(cells) + "\x1e\n")).reason == sentence


@pytest.mark.parametrize(("written", "exit"), [("256", JobExit(1)), ("1:0", JobExit(1)), ("0:9", JobExit(None, 9))])
def test_exit_code_as_squeue_writes_it_before_and_since_23_02(written: str, exit: JobExit) -> None:
    cells = ["5", "N/A", "N/A", "5", "N/A", "a", "p", "FAILED", "None", "N/A", "N/A", "N/A", "n1", "cpu=1", written]

    (job,) = read_queue("\x1f".join([*cells, "0", "x", "y"]) + "\x1e\n")

    assert (job.exit, job.held) == (exit, ())


@pytest.mark.parametrize("text", ["", "\n", "slurm_load_jobs error: Invalid job id specified\n", "1\x1f2\x1e\n"])
def test_what_is_no_table_has_no_jobs(text: str) -> None:
    assert list(read_queue(text)) == list(read_past(text)) == []


def test_one_query_asks_for_all_jobs() -> None:
    command = queue_command([1, "22"])

    assert command[0] == "squeue"
    assert command[-1] == "--jobs=1,22"
    assert "--states=all" in command
    assert past_command(["5"])[-1] == "--jobs=5"
