"""Jobs that Slurm ends, and ends that nobody saw: with accounting and without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_accounting import accounting_unavailable
from tests.parts.slurm_commands import FailingSrun, HeldSrun
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import CLUSTER, serving_slurm
from tests.parts.slurm_sharing import SharedSlurm, mend_cluster

pytestmark = pytest.mark.slurm
_GREEDY = "python3 -c 'import time; x = bytearray(2**28); time.sleep(1000)'"


@pytest.fixture
def accounted(shared_slurm: SharedSlurm) -> Iterator[RealSlurm]:
    """A cluster with accounting, whose controller forgets jobs soon after their end."""
    if missing := accounting_unavailable():
        pytest.skip(missing)
    slurm = shared_slurm.cluster(SlurmOptions(accounting=True, min_job_age_s=2))
    yield slurm
    mend_cluster(slurm)


@pytest.fixture
def accounted_server(shared_slurm: SharedSlurm, accounted: RealSlurm) -> Iterator[MusterServer]:
    server = shared_slurm.server(accounted, "shared")
    yield server
    shared_slurm.mend_server(server, accounted)


def test_job_ends_at_a_limit_of_slurm(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, retry={"max": 0})
    job.await_running()

    slurm.run("scontrol", "update", f"jobid={job.slurm_job}", "timelimit=0")
    ended = slurm_server.wait(job.id)

    assert ended["state"] == "Failed"
    assert "limit" in slurm_server.run("explain", job.id).stdout
    assert job.starts == {"0": 1}


def test_job_that_uses_too_much_memory_fails_for_that(strict_slurm: RealSlurm, tmp_path: Path) -> None:
    with serving_slurm(tmp_path / "home", strict_slurm) as server:
        spec = {"name": "greedy", "cluster": CLUSTER, "command": _GREEDY, "resources": {"cpu": 1, "memory": "50Mi"}}
        job = server.submit({**spec, "retry": {"max": 0}})
        ended = server.wait(job["id"])

        assert ended["state"] == "Failed"
        assert "memory" in server.run("explain", job["id"]).stdout


_LEAVES_WHEN_KILLED = """
touch {folder}/begun
while [ ! -e {folder}/go ]; do sleep 0.1; done
python3 -c 'import time; x = bytearray(2**28); time.sleep(1000)' &
until cat {shared}/*/gangs/*/script.out | grep -q 'exceeded memory limit'; do sleep 0.1; done
kill -KILL $!
touch {folder}/left
exit 0
"""


def test_command_that_leaves_with_success_while_slurm_kills_it_for_memory_has_not_succeeded(
    strict_slurm: RealSlurm, tmp_path: Path
) -> None:
    """Slurm kills its processes one after the other, and what is killed last may exit first. Here the controller, by
    which the order to kill goes, is slow."""
    shared = tmp_path / "shared"
    with serving_slurm(tmp_path / "home", strict_slurm, sharedFolder=str(shared)) as server:
        command = _LEAVES_WHEN_KILLED.format(folder=tmp_path, shared=shared)
        spec = {"name": "greedy", "cluster": CLUSTER, "command": command, "resources": {"cpu": 1, "memory": "50Mi"}}
        job = server.submit({**spec, "retry": {"max": 0}})
        _await_file(tmp_path / "begun")

        strict_slurm.freeze_controller()
        (tmp_path / "go").touch()
        _await_file(tmp_path / "left")
        strict_slurm.thaw_controller()
        ended = server.wait(job["id"])

        assert ended["state"] == "Failed"
        assert "used more memory than it asked for" in server.run("explain", job["id"]).stdout
        assert _state_and_code(strict_slurm, job["id"]) == ("FAILED", 137)


def test_program_that_lives_on_without_a_process_that_the_kernel_killed_is_out_of_memory(
    slurm_folder: Path, tmp_path: Path
) -> None:
    with (
        RealSlurm(slurm_folder, SlurmOptions(limits_memory=True)) as slurm,
        serving_slurm(tmp_path / "home", slurm) as server,
    ):
        spec = {"name": "greedy", "cluster": CLUSTER, "command": f"{_GREEDY} & wait; exit 0"}
        job = server.submit({**spec, "resources": {"cpu": 1, "memory": "50Mi"}, "retry": {"max": 0}})
        ended = server.wait(job["id"])

        assert ended["state"] == "Failed"
        assert "used more memory than it asked for" in server.run("explain", job["id"]).stdout
        assert _state_and_code(slurm, job["id"])[0] in ("FAILED", "OUT_OF_MEMORY")


def test_job_that_is_cancelled_while_its_tasks_start_is_cancelled(slurm: RealSlurm, tmp_path: Path) -> None:
    held = HeldSrun(slurm.new_folder("commands"))
    with serving_slurm(tmp_path / "home", slurm, commands=str(held.folder)) as server:
        job = submit_noting(server, slurm)
        held.await_held()

        slurm.run("scancel", "--signal=KILL", job.slurm_job)

        assert server.wait(job.id)["state"] == "Cancelled"
        assert job.starts == {}


def test_job_whose_step_is_cancelled_in_slurm_is_cancelled(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, replicas=2)
    job.await_running(tasks=2)

    slurm.run("scancel", f"{job.slurm_job}.0")

    assert slurm_server.wait(job.id)["state"] == "Cancelled"
    assert job.starts == {"0": 1, "1": 1}


def test_job_of_which_one_part_is_cancelled_in_slurm_is_cancelled(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    roles = {"ps": {"command": "sleep 1000"}, "worker": {"command": "sleep 1000", "resources": {"gpu": 1}}}
    job = slurm_server.submit({"name": "parts", "cluster": CLUSTER, "roles": roles})["id"]
    slurm_server.wait_for_state(job, "Running")
    found = [line.split() for line in slurm.run("squeue", "--noheader", "--format=%i %j").splitlines()]
    (part,) = [number for number, name in found if number.endswith("+1") and job in name]

    slurm.run("scancel", part)

    assert slurm_server.wait(job)["state"] == "Cancelled"
    slurm.wait_until_empty()


def test_gang_of_which_one_part_ends_without_a_trace_is_started_again(
    slurm_server: MusterServer, slurm: RealSlurm
) -> None:
    """Slurm lets the other part run on."""
    roles = {
        "ps": {"command": "[ $MUSTER_ATTEMPT -gt 1 ] || sleep 1000"},
        "worker": {"command": "[ $MUSTER_ATTEMPT -gt 1 ] || kill -KILL $PPID", "resources": {"gpu": 1}},
    }
    job = slurm_server.submit({"name": "parts", "cluster": CLUSTER, "roles": roles})["id"]

    assert slurm_server.wait(job)["state"] == "Succeeded"
    assert "Lost" in slurm_server.run("explain", job).stdout


def test_gang_of_which_one_part_does_not_start_is_started_again(slurm: RealSlurm, tmp_path: Path) -> None:
    commands = FailingSrun(tmp_path / "commands", part=1)
    with serving_slurm(tmp_path / "home", slurm, commands=str(commands.folder)) as server:
        roles = {"ps": {"command": "true"}, "worker": {"command": "true", "resources": {"gpu": 1}}}
        job = server.submit({"name": "parts", "cluster": CLUSTER, "roles": roles})["id"]

        assert server.wait(job)["state"] == "Succeeded"
        assert "srun started no process for it" in server.run("explain", job).stdout


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
    try:
        job = submit_noting(accounted_server, accounted)
        job.await_running()
        job.let_go()

        assert accounted_server.wait(job.id)["state"] == "Succeeded"
    finally:
        accounted.accounting.start()


def test_exit_code_of_a_task_is_that_of_its_program(slurm_server: MusterServer) -> None:
    job = slurm_server.submit({"name": "seven", "cluster": CLUSTER, "command": "exit 7", "retry": {"max": 0}})
    ended: Any = slurm_server.wait(job["id"])

    assert ended["state"] == "Failed"
    assert "7" in slurm_server.run("explain", job["id"]).stdout


def _state_and_code(slurm: RealSlurm, job_id: str) -> tuple[str, int]:
    """What Slurm itself says of the last job of a job of Muster, which may know of its end before Slurm does."""
    found: list[str] = []
    for _ in polls(60):
        table = slurm.run("squeue", "--noheader", "--states=all", "--Format=JobID:9,State:20,exit_code:12,Name:80")
        found = next(line.split() for line in reversed(table.splitlines()) if job_id in line)
        if found[1] not in ("RUNNING", "COMPLETING"):
            return found[1], int(found[2]) >> 8
    raise AssertionError(f"the job has not ended in Slurm: {found}")


def _await_file(path: Path) -> None:
    for _ in polls(60):
        if path.exists():
            return
    raise AssertionError(f"{path} does not come")


def _await_forgotten(slurm: RealSlurm, number: str) -> None:
    for _ in polls(120):
        if not slurm.job_state(number):
            return
    raise AssertionError(f"slurmctld still knows {number}")
