"""What sbatch says when it takes no job: for now, or ever."""

import pytest

from muster.agent.batch.programs import FULL, REJECTED, UNREACHABLE, Finished
from muster.agent.batch.refusals import refusal

pytestmark = pytest.mark.fast
_POLICY = (
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy "
    "(job submit limit, user's size and/or time limits)\n"
)


@pytest.mark.parametrize(
    "limit",
    [
        *("AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit", "QOSGrpSubmitJobsLimit"),
        *("QOSMaxSubmitJobPerUserLimit", "QOSMaxSubmitJobPerAccountLimit"),
    ],
)
def test_job_that_is_one_too_many_is_taken_later(limit: str) -> None:
    refused = refusal(Finished(1, "", f"sbatch: error: {limit}\n{_POLICY}"))

    assert refused.code == FULL
    assert f"({limit})" in str(refused)


@pytest.mark.parametrize("limit", ["QOSMaxCpuPerJobLimit", "AssocMaxWallDurationPerJobLimit", ""])
def test_job_that_is_too_large_is_refused_for_good(limit: str) -> None:
    assert refusal(Finished(1, "", f"sbatch: error: {limit}\n{_POLICY}")).code == REJECTED


def test_nobody_knows_whether_a_controller_that_does_not_answer_has_the_job() -> None:
    said = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n"
    assert refusal(Finished(1, "", said)).code == UNREACHABLE
