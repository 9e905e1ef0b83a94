"""Parts of a Slurm cluster and the server die while jobs run: every task runs once, and each end is the right one."""

from pathlib import Path

import pytest

from tests.parts.host_claims import CommandFailed
from tests.parts.server import MusterServer, polls
from tests.parts.slurm import OTHER_PERSON, RealSlurm, SlurmOptions
from tests.parts.slurm_jobs import NotingJob, noting_job, submit_noting
from tests.parts.slurm_rewinding import Rewound
from tests.parts.slurm_server import CLUSTER, await_slurm, serving_slurm
from tests.parts.slurm_settings import URGENT_PARTITION

pytestmark = pytest.mark.slurm


def test_killed_controller_does_not_disturb_a_job(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, replicas=2)
    job.await_running(tasks=2)
    slurm.wait_until_saved(job.slurm_job)

    slurm.kill_controller()
    job.let_go()
    slurm.start_controller()

    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 1, "1": 1}


def test_job_that_is_submitted_without_a_controller_runs_once_it_is_back(
    slurm_server: MusterServer, slurm: RealSlurm
) -> None:
    slurm.kill_controller()
    job = submit_noting(slurm_server, slurm)
    _await_handed_over_or_held_back(slurm_server, job)

    slurm.start_controller()
    job.await_running()
    job.let_go()

    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 1}


def test_number_of_a_job_that_slurm_forgot_may_be_that_of_somebody_else(
    slurm_server: MusterServer, slurm: RealSlurm, tmp_path: Path
) -> None:
    """slurmctld writes its jobs down late. When it is killed before, the next job gets the same number."""
    rewound = Rewound(slurm, tmp_path, slurm.fill())
    job = submit_noting(slurm_server, slurm)
    job.await_waiting("Resources")
    number = job.slurm_job
    with slurm_server.frozen():  # so that it does not ask in between
        rewound.go_back()
        slurm.start_controller()
        other = slurm.submit("sleep 1000", as_user=OTHER_PERSON)
    assert other == number

    slurm.free()
    job.await_running()
    slurm_server.run("kill", job.id, check=True)

    assert slurm_server.wait(job.id)["state"] == "Cancelled"
    assert slurm.job_state(other) == "RUNNING"


def test_killed_node_daemon_does_not_disturb_a_job(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm)
    job.await_running()

    node = job.node
    slurm.kill_node_daemon(node)
    job.let_go()
    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    slurm.start_node(node)

    assert job.starts == {"0": 1}


def test_job_on_a_crashed_node_is_started_again(slurm_folder: Path, tmp_path: Path) -> None:
    with (
        RealSlurm(slurm_folder, SlurmOptions(node_timeout_s=10)) as slurm,
        serving_slurm(tmp_path / "home", slurm) as server,
    ):
        job = submit_noting(server, slurm, retry={"max": 0})
        job.await_running()
        slurm.crash_node(job.node)

        job.await_running(times=2)
        job.let_go()

        assert server.wait(job.id)["state"] == "Succeeded"


def test_job_on_a_node_that_is_set_down_is_started_again(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, retry={"max": 0})
    job.await_running()

    slurm.set_node(job.node, "down")
    job.await_running(times=2)
    job.let_go()

    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 2}


def test_job_that_is_cancelled_in_slurm_is_cancelled(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, replicas=2)
    job.await_running(tasks=2)

    slurm.run("scancel", job.slurm_job)

    assert slurm_server.wait(job.id)["state"] == "Cancelled"
    assert job.starts == {"0": 1, "1": 1}


def test_waiting_job_that_is_cancelled_in_slurm_is_cancelled(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    slurm.fill()
    job = submit_noting(slurm_server, slurm)
    job.await_waiting("Resources")

    slurm.run("scancel", job.slurm_job)

    assert slurm_server.wait(job.id)["state"] == "Cancelled"
    assert job.starts == {}


def test_requeued_job_is_started_again_by_muster_alone(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, retry={"max": 0})
    job.await_running()

    number = job.slurm_job
    with pytest.raises(CommandFailed, match="disabled"):
        slurm.run("scontrol", "requeue", number)  # as its script says
    slurm.run("scontrol", "update", f"jobid={number}", "requeue=1")

    slurm.run("scontrol", "requeue", number)
    job.await_running(times=2)
    job.let_go()

    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 2}
    assert job.slurm_job != number
    slurm.wait_for_job(number, "CANCELLED")


def test_nothing_of_a_requeued_job_stays_in_slurm(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    """Also if Slurm holds it, and Muster does not try it again."""
    job = submit_noting(slurm_server, slurm, retry={"max": 0})
    job.await_running()
    number = job.slurm_job
    slurm.run("scontrol", "update", f"jobid={number}", "requeue=1")

    slurm.run("scontrol", "requeuehold", number)
    job.await_running(times=2)

    assert f"job {number} was requeued in Slurm" in _explained(slurm_server, job)
    slurm.wait_for_job(number, "CANCELLED")
    slurm_server.run("kill", job.id, check=True)
    slurm.wait_until_empty()
    assert job.starts == {"0": 2}


@pytest.mark.parametrize("prolog", ["Prolog", "PrologSlurmctld"])
def test_job_whose_prolog_fails_is_started_again(slurm_folder: Path, tmp_path: Path, prolog: str) -> None:
    """Slurm cancels the job itself, as it may not requeue it."""
    script, broken = tmp_path / "prolog.sh", tmp_path / "broken"
    script.write_text(f"#!/bin/sh\n[ ! -e {broken} ]\n")
    script.chmod(0o755)
    tmp_path.chmod(0o755)
    broken.touch()
    with (
        RealSlurm(slurm_folder, SlurmOptions(extra=f"{prolog}={script}")) as slurm,
        serving_slurm(tmp_path / "home", slurm) as server,
    ):
        job = submit_noting(server, slurm, retry={"max": 0})
        _await_explained(server, job, "a prolog of the cluster has failed")
        broken.unlink()
        for node in ("n1", "n2", "n3", "n4"):
            slurm.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)

        job.await_running()
        job.let_go()
        assert server.wait(job.id)["state"] == "Succeeded"
        assert job.starts == {"0": 1}


def test_preempted_job_is_started_again(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(slurm_server, slurm, retry={"max": 0})
    job.await_running()

    urgent = slurm.submit("sleep 1000", "--nodes=4", "--exclusive", f"--partition={URGENT_PARTITION}")
    slurm.wait_for_job(urgent, "RUNNING")
    _await_state_other_than_running(slurm_server, job)
    slurm.run("scancel", urgent)
    job.await_running(times=2)
    job.let_go()

    assert "for another one: Slurm preempted its job" in _explained(slurm_server, job)
    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 2}


def test_full_cluster_is_explained_and_waited_for(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    slurm.fill()
    job = submit_noting(slurm_server, slurm)
    job.await_waiting("Resources")

    assert "in use" in slurm_server.run("explain", job.id).stdout
    slurm.free()
    job.await_running()
    job.let_go()
    assert slurm_server.wait(job.id)["state"] == "Succeeded"


def test_job_starts_when_others_have_left_while_nothing_of_muster_was_in_slurm(
    slurm: RealSlurm, tmp_path: Path
) -> None:
    slurm.fill()
    with serving_slurm(tmp_path / "home", slurm, headStart=0) as server:
        job = submit_noting(server, slurm)
        job.await_waiting("Queued")
        slurm.free()

        job.await_running()
        job.let_go()
        assert server.wait(job.id)["state"] == "Succeeded"


def test_cluster_whose_file_is_removed_takes_no_more_jobs_and_leaves_after_the_last(
    own_slurm_server: MusterServer, slurm: RealSlurm
) -> None:
    job = submit_noting(own_slurm_server, slurm)
    job.await_running()
    waiting = submit_noting(own_slurm_server, slurm, "waiting", after=[job.id])

    (own_slurm_server.home / "clusters.d" / f"{CLUSTER}.yaml").unlink()
    _await_cluster_state(own_slurm_server, "Unreachable")
    spec, _ = noting_job(slurm, "later")
    status, answer = own_slurm_server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert (status, answer["problems"][0]["hint"]) == (422, "known clusters: local")
    assert f"file of cluster {CLUSTER} was removed" in own_slurm_server.run("explain", waiting.id).stdout
    own_slurm_server.run("kill", waiting.id, check=True)
    job.let_go()

    assert own_slurm_server.wait(job.id)["state"] == "Succeeded"
    assert waiting.starts == {}
    _await_cluster_state(own_slurm_server, None)


def test_held_job_says_who_has_to_act(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    slurm.fill()
    job = submit_noting(slurm_server, slurm)
    job.await_waiting("Resources")

    slurm.run("scontrol", "hold", job.slurm_job)
    job.await_waiting("JobHeldAdmin")
    slurm.run("scontrol", "release", job.slurm_job)
    slurm.free()

    job.await_running()
    job.let_go()
    assert slurm_server.wait(job.id)["state"] == "Succeeded"


def test_jobs_of_other_people_are_left_alone(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    others = [
        slurm.submit("sleep 1000", "--job-name=noting", as_user=OTHER_PERSON),
        slurm.submit("sleep 1000", "--comment=muster:key:1"),
    ]
    job = submit_noting(slurm_server, slurm)
    job.await_running()

    shown = slurm_server.json("get", "jobs")["items"]
    assert [one["id"] for one in shown if one["state"] == "Running"] == [job.id]
    slurm_server.run("kill", job.id, check=True)
    slurm_server.wait(job.id)
    slurm_server.kill()
    slurm_server.start()
    await_slurm(slurm_server)

    assert [slurm.job_state(other) for other in others] == ["RUNNING", "RUNNING"]


@pytest.mark.parametrize("moment", ["at once", "while it waits", "while it runs", "while it ends"])
def test_job_survives_a_killed_server(slurm_server: MusterServer, slurm: RealSlurm, moment: str) -> None:
    if moment == "while it waits":
        slurm.fill()
    job = submit_noting(slurm_server, slurm, replicas=2)
    if moment == "while it waits":
        job.await_waiting("Resources")
    elif moment != "at once":
        job.await_running(tasks=2)

    if moment == "while it ends":
        job.let_go()
    slurm_server.kill()
    slurm.free()
    slurm_server.start()
    job.await_running(tasks=2) if moment != "while it ends" else None
    job.let_go()

    assert slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 1, "1": 1}


def _await_explained(server: MusterServer, job: NotingJob, words: str) -> None:
    said = ""
    for _ in polls(60):
        said = _explained(server, job)
        if words in said:
            return
    raise AssertionError(f"nobody says {words!r}: {said}")


def _explained(server: MusterServer, job: NotingJob) -> str:
    return " ".join(server.run("explain", job.id).stdout.split())


def _await_handed_over_or_held_back(server: MusterServer, job: NotingJob) -> None:
    """A server that has noticed that Slurm is away hands nothing over."""
    for _ in polls(60):
        _, seen = server.call("GET", f"/api/v1/jobs/{job.id}")
        if seen["state"] == "Starting" or seen["reason"]:
            return
    raise AssertionError(f"nobody has looked at the job: {seen}")


def _await_state_other_than_running(server: MusterServer, job: NotingJob) -> None:
    for _ in polls(60):
        _, seen = server.call("GET", f"/api/v1/jobs/{job.id}")
        if seen["state"] != "Running":
            return
    raise AssertionError(f"the job still runs: {seen}")


def _await_cluster_state(server: MusterServer, state: str | None) -> None:
    """None: until the cluster is not there any more."""
    for _ in polls(60):
        states = {one["name"]: one["state"] for one in server.json("get", "clusters")["items"]}
        if states.get(CLUSTER) == state:
            return
    raise AssertionError(f"the cluster is not {state}: {states}")
