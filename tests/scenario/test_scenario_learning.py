"""What the scheduler knows of the past: run times to predict by, and GPU time that was used."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.domain.jobs import Job
from muster.engine.requests import commands
from muster.scheduling.demand import similarity_of
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
LIMITED = "{name: vision, userLimits: {gpuHoursPerWeek: 100}}\n"


@pytest.fixture
async def lab(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    laboratory = Laboratory(tmp_path, database_template, FakeBackend([a_node("n1", 8, 64 * GIB, "A100", "A100")]))
    laboratory.clusters.mkdir()
    (laboratory.clusters / "vcs.yaml").write_text(LIMITED)
    await laboratory.open()
    yield laboratory
    await laboratory.close()


async def ran(lab: Laboratory, name: str, seconds: float, *, exit_code: int = 0) -> Job:
    job_id = await lab.submit(a_spec(a_role(gpus=2), name=name, cluster="vision"))
    await lab.becomes(job_id, "Running")
    lab.pass_time(seconds)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code)
    return await lab.becomes(job_id, "Succeeded" if exit_code == 0 else "Failed")


def foretold(lab: Laboratory, job: Job) -> float | None:
    """Of GPU seconds, for the very kind of job."""
    return lab.context.clusters["lab"].predictor.median(similarity_of(job)[:1])


def used_hours(lab: Laboratory) -> float:
    quotas = lab.context.clusters["lab"].quotas(lab.now)
    return sum(quota.used for quota in quotas if quota.kind == "gpuHoursPerWeek")


async def test_jobs_that_end_well_are_learnt_from_and_remembered_over_a_restart(lab: Laboratory) -> None:
    for number in range(3):
        job = await ran(lab, f"resnet-{number}", 1000.0)
    before = foretold(lab, job)
    assert before is not None
    assert before == pytest.approx(2000.0, rel=0.3)
    await lab.restart()
    await lab.settled()
    assert foretold(lab, job) == before


async def test_jobs_that_fail_or_are_killed_teach_nothing(lab: Laboratory) -> None:
    for number in range(3):
        await ran(lab, f"resnet-{number}", 1000.0, exit_code=127)
        job_id = await lab.submit(a_spec(a_role(gpus=2), name=f"resnet-{number}", cluster="vision"))
        job = await lab.becomes(job_id, "Running")
        lab.pass_time(50.0)
        await commands.kill(lab.context, job_id, "amy")
        await lab.becomes(job_id, "Cancelled")
    assert foretold(lab, job) is None


async def test_gpu_time_of_the_week_is_known_after_a_restart(lab: Laboratory) -> None:
    await ran(lab, "resnet-1", 3600.0)
    assert used_hours(lab) == pytest.approx(2.0)
    await lab.restart()
    assert used_hours(lab) == pytest.approx(2.0)
    lab.backend.clock += 8 * 86400.0
    await lab.restart()
    assert used_hours(lab) == 0.0
