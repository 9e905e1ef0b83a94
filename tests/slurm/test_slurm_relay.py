"""Jobs on a Slurm cluster whose nodes share no folder with the login node."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.agent.batch.spool import Gang
from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import serving_slurm

pytestmark = pytest.mark.slurm


@pytest.fixture
def unshared_server(slurm: RealSlurm, tmp_path: Path) -> Iterator[MusterServer]:
    with serving_slurm(tmp_path / "home", slurm, sharedFolder=None) as server:
        yield server


def test_job_leaves_its_nodes_when_its_tasks_have_ended(unshared_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(unshared_server, slurm, replicas=2)
    job.await_running(tasks=2)
    number = job.slurm_job

    job.let_go()

    assert unshared_server.wait(job.id)["state"] == "Succeeded"
    slurm.wait_for_job(number, "COMPLETED", timeout_s=30)


def test_job_whose_gang_is_forgotten_leaves_its_nodes(unshared_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(unshared_server, slurm)
    job.await_running()
    number = job.slurm_job
    (folder,) = unshared_server.home.rglob(f"gangs/{job.id}.1")

    Gang(str(folder)).forget(f"{job.id}.1.worker.0")

    slurm.wait_for_job(number, "COMPLETED", "FAILED", "CANCELLED", timeout_s=30)
