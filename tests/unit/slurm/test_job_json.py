"""Jobs are read from JSON of all shapes that Slurm's releases print."""

import pytest

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.exit_codes import JobExit
from muster.backends.slurm.answers.job_json import read_queue_json
from muster.backends.slurm.answers.job_records import Held, JobRecord
from muster.backends.slurm.answers.job_states import EndKind
from muster.backends.slurm.answers.job_tables import read_queue
from tests.unit.slurm.samples import RECORDED, documented, recorded

pytestmark = pytest.mark.fast
QUEUE = [
    JobRecord(
        41,
        ("RUNNING",),
        name="train",
        user="alice",
        partition="gpu",
        reason="None",
        submitted_at=1794969100,
        starts_at=1794969200,
        nodes=("gpu01", "gpu02"),
        held=(Held(("gpu01", "gpu02"), Amounts(16, 64 << 30, {"a100": 4})),),
    ),
    JobRecord(
        53,
        ("FAILED",),
        array_job_id=50,
        array_tasks="3",
        name="sweep",
        user="bob",
        partition="gpu",
        reason="NonZeroExitCode",
        submitted_at=1794969100,
        starts_at=1794969200,
        ended_at=1794969300,
        nodes=("gpu01",),
        exit=JobExit(1),
        restarts=2,
    ),
    JobRecord(
        61,
        ("PENDING",),
        het_job_id=60,
        het_offset=1,
        name="ps",
        user="alice",
        partition="cpu",
        reason="Resources",
        submitted_at=1794969100,
        starts_at=1794990000,
    ),
]


@pytest.mark.parametrize("release", ["21.08", "23.02", "23.11", "24.05", "24.11"])
def test_documented_queue(release: str) -> None:
    assert list(read_queue_json(documented(f"squeue-{release}.json"))) == QUEUE


@pytest.mark.parametrize("release", RECORDED)
def test_json_of_squeue_says_the_same_as_its_table(release: str) -> None:
    by_json = {job.job_id: job for job in read_queue_json(recorded(release, "squeue.json"))}
    by_table = {job.job_id: job for job in read_queue(recorded(release, "squeue.txt"))}

    assert by_json == by_table


def test_running_and_completing_is_not_over() -> None:
    content = '{"jobs": [{"job_id": 1, "job_state": ["COMPLETED", "COMPLETING"], "end_time": 5, "exit_code": 0}]}'

    (job,) = read_queue_json(content)

    assert (job.state.end, job.ended_at, job.exit) == (None, None, None)


def test_end_is_known_from_json_without_the_rest() -> None:
    (job,) = read_queue_json('{"jobs": [{"job_id": 1, "job_state": ["NODE_FAIL"]}]}')

    assert job == JobRecord(1, ("NODE_FAIL",))
    assert job.state.end is EndKind.NODE_FAILURE


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"errors": [{"error": "x"}]}', '{"jobs": null}', "sacct: error"])
def test_what_is_no_json_of_jobs_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(read_queue_json(content))
