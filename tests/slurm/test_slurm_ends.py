"""Jobs that Slurm ends, and ends that nobody saw: with accounting and without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import CLUSTER, serving_slurm

pytestmark = pytest.mark.slurm
_GREEDY = "python3 -c 'import time; x = bytearray(2**28); time.sleep(1000)'"


@pytest.fixture
def accounted(slurm_folder: Path) -> Iterator[RealSlurm]:
    """A cluster with accounting, whose controller forgets jobs soon after their end."""
    with RealSlurm(slurm_folder, SlurmOptions(accounting=True, min_job_age_s=2)) as slurm:
        yield slurm


@pytest.fixture
def accounted_server(accounted: RealSlurm, tmp_path: Path) -> Iterator[MusterServer]:
    with serving_slurm(tmp_path / "home", accounted) as server:
        yield server


def test_job_ends_at_a_limit_of_slurm(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, retry={"max": 0})
    job.await_running()

    slurm.run("scontrol", "update", f"jobid={job.slurm_job}", "timelimit=0")
    ended = slurm_server.wait(job.id)

    assert ended["state"] == "Failed"
    assert "limit" in slurm_server.run("explain", job.id).stdout
    assert job.starts == {"0": 1}


def test_job_that_uses_too_much_memory_fails_for_that(slurm_folder: Path, tmp_path: Path) -> None:
    with (
        RealSlurm(slurm_folder, SlurmOptions(kills_for_memory=True)) as slurm,
        serving_slurm(tmp_path / "home", slurm) as server,
    ):
        spec = {"name": "greedy", "cluster": CLUSTER, "command": _GREEDY, "resources": {"cpu": 1, "memory": "50Mi"}}
        job = server.submit({**spec, "retry": {"max": 0}})
        ended = server.wait(job["id"])

        assert ended["state"] == "Failed"
        assert "memory" in server.run("explain", job["id"]).stdout


def test_end_that_nobody_saw_is_learned_from_accounting(accounted_server: MusterServer, accounted: RealSlurm) -> None:
    job = submit_noting(accounted_server, accounted)
    job.await_running()
    number = job.slurm_job
    accounted_server.kill()

    accounted.run("scancel", number)
    _await_forgotten(accounted, number)
    accounted_server.start()

    assert accounted_server.wait(job.id)["state"] == "Cancelled"
    assert job.starts == {"0": 1}


@pytest.mark.parametrize("moment", ["while it waits", "while it runs"])
def test_job_that_is_cancelled_in_slurm_while_no_server_runs_is_cancelled(
    slurm_server: MusterServer, slurm: RealSlurm, moment: str
) -> None:
    """The controller remembers it for a while, also without accounting."""
    if moment == "while it waits":
        slurm.fill()
    job = submit_noting(slurm_server, slurm)
    job.await_waiting("Resources") if moment == "while it waits" else job.await_running()
    number = job.slurm_job
    slurm_server.kill()

    slurm.run("scancel", number)
    slurm.wait_for_job(number, "CANCELLED")
    slurm_server.start()

    assert slurm_server.wait(job.id)["state"] == "Cancelled"
    assert job.starts == ({} if moment == "while it waits" else {"0": 1})


def test_waiting_job_whose_cancellation_nobody_saw_is_cancelled_by_accounting(
    accounted_server: MusterServer, accounted: RealSlurm
) -> None:
    accounted.fill()
    job = submit_noting(accounted_server, accounted)
    job.await_waiting("Resources")
    number = job.slurm_job
    accounted_server.kill()

    accounted.run("scancel", number)
    _await_forgotten(accounted, number)
    accounted_server.start()

    assert accounted_server.wait(job.id)["state"] == "Cancelled"
    assert job.starts == {}


def test_success_that_nobody_saw_is_known_without_accounting(slurm_folder: Path, tmp_path: Path) -> None:
    with (
        RealSlurm(slurm_folder, SlurmOptions(min_job_age_s=2)) as slurm,
        serving_slurm(tmp_path / "home", slurm) as server,
    ):
        job = submit_noting(server, slurm)
        job.await_running()
        number = job.slurm_job
        server.kill()

        job.let_go()
        _await_forgotten(slurm, number)
        server.start()

        assert server.wait(job.id)["state"] == "Succeeded"
        assert job.starts == {"0": 1}


def test_jobs_run_while_accounting_is_down(accounted_server: MusterServer, accounted: RealSlurm) -> None:
    assert accounted.accounting is not None
    accounted.accounting.kill()
    job = submit_noting(accounted_server, accounted)
    job.await_running()
    job.let_go()

    assert accounted_server.wait(job.id)["state"] == "Succeeded"
    accounted.accounting.start()


def test_exit_code_of_a_task_is_that_of_its_program(slurm_server: MusterServer) -> None:
    job = slurm_server.submit({"name": "seven", "cluster": CLUSTER, "command": "exit 7", "retry": {"max": 0}})
    ended: Any = slurm_server.wait(job["id"])

    assert ended["state"] == "Failed"
    assert "7" in slurm_server.run("explain", job["id"]).stdout


def _await_forgotten(slurm: RealSlurm, number: str) -> None:
    for _ in polls(120):
        if not slurm.job_state(number):
            return
    raise AssertionError(f"slurmctld still knows {number}")
