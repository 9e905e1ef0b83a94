"""A submission is cut off while sbatch runs: the job runs once, whoever it belongs to."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import OTHER_PERSON, RealSlurm
from tests.parts.slurm_commands import HeldSbatch, login_agent_of
from tests.parts.slurm_jobs import NotingJob, noting_job
from tests.parts.slurm_server import serving_slurm, token_of

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("submit_as", ["service", "user"])
def test_job_runs_once_if_the_agent_is_killed_while_sbatch_runs(
    slurm: RealSlurm, tmp_path: Path, submit_as: str
) -> None:
    if submit_as == "user" and shutil.which("sudo") is None:
        pytest.skip("there is no sudo")
    sbatch = HeldSbatch(slurm.new_folder("commands"))
    with serving_slurm(tmp_path / "home", slurm, submitAs=submit_as, commands=str(sbatch.folder)) as server:
        job = _submitted(server, slurm)
        sbatch.await_held()

        killed = login_agent_of(server.pid)
        os.kill(killed, signal.SIGKILL)
        _await_another_try(server, killed, sbatch)
        sbatch.let_go()
        job.await_running()
        job.let_go()

        ended = server.wait(job.id)
        assert ended["state"] == "Succeeded", server.run("explain", job.id).stdout
        assert job.starts == {"0": 1}
        assert len(_numbers(slurm, job)) == 1
        assert sbatch.calls == 1


def _submitted(server: MusterServer, slurm: RealSlurm) -> NotingJob:
    spec, folder = noting_job(slurm)
    status, job = server.call("POST", "/api/v1/jobs", {"spec": spec}, token=token_of(server, OTHER_PERSON))
    assert status < 300, job
    return NotingJob(server, slurm, job["id"], folder)


def _await_another_try(server: MusterServer, killed: int, sbatch: HeldSbatch) -> None:
    """Until another agent has the file of the claim open, or has called sbatch a second time."""
    agent = killed
    for _ in polls(60):
        try:
            agent = login_agent_of(server.pid)
            names = [fd.readlink().name for fd in Path(f"/proc/{agent}/fd").iterdir()]
        except (AssertionError, OSError):
            continue
        if agent != killed and (any(name.endswith(".claim") for name in names) or sbatch.calls > 1):
            return
    raise AssertionError(f"the agent {agent} does not try to submit the job again")


def _numbers(slurm: RealSlurm, job: NotingJob) -> list[str]:
    rows = slurm.run("squeue", "--noheader", "--states=all", "--format=%A %j").splitlines()
    return [row.split()[0] for row in rows if job.id in row]
