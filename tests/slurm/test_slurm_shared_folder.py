"""Nodes run nothing from a shared folder that others could replace, also if they could not before."""

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import submit_noting

pytestmark = pytest.mark.slurm


def test_folder_that_has_become_open_to_others_is_not_submitted_from(
    slurm_server: MusterServer, slurm: RealSlurm
) -> None:
    shared = slurm.folder / "shared"
    shared.chmod(0o777)
    try:
        job = submit_noting(slurm_server, slurm, retry={"max": 0})
        told = ""
        for _ in polls(60):
            told = " ".join(slurm_server.run("explain", job.id).stdout.split())
            if "can be written by other accounts" in told:
                break
        assert f"{shared} of root can be written by other accounts" in told
        assert job.id not in slurm.run("squeue", "--noheader", "--states=all", "--format=%j")
    finally:
        shared.chmod(0o755)

    job.await_running()
    job.let_go()
    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 1}
