"""Jobs on a Slurm cluster whose nodes share no folder with the login node."""

import hashlib
import re
from pathlib import Path

import pytest

from muster.agent.batch.spool import Gang
from tests.parts.ports import free_port
from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import CLUSTER, serving_slurm

pytestmark = pytest.mark.slurm


def test_job_leaves_its_nodes_when_its_tasks_have_ended(unshared_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(unshared_server, slurm, replicas=2)
    job.await_running(tasks=2)
    number = job.slurm_job

    job.let_go()

    assert unshared_server.wait(job.id)["state"] == "Succeeded"
    slurm.wait_for_job(number, "COMPLETED")


def test_job_whose_gang_is_forgotten_leaves_its_nodes(unshared_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(unshared_server, slurm)
    job.await_running()
    number = job.slurm_job
    (folder,) = unshared_server.home.rglob(f"gangs/{job.id}.1")

    Gang(str(folder)).forget(f"{job.id}.1.worker.0")

    slurm.wait_for_job(number, "COMPLETED", "FAILED", "CANCELLED")


def test_outputs_of_all_tasks_come_back(unshared_server: MusterServer, tmp_path: Path) -> None:
    command = "mkdir -p model && seq $MUSTER_RANK 400000 > model/numbers && echo scratch > scratch.tmp"
    spec = {"name": "trained", "cluster": CLUSTER, "replicas": 2, "command": command, "outputs": ["model/"]}
    unshared_server.submit({**spec, "resources": {"cpu": 1}})
    assert unshared_server.wait("trained")["state"] == "Succeeded"

    unshared_server.run("outputs", "trained", "--get", str(tmp_path / "out"), check=True)

    found = {path.parent.parent.name: path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert sorted(found) == ["worker-0", "worker-1"]
    for rank, path in enumerate(found[name] for name in sorted(found)):
        numbers = "".join(f"{number}\n" for number in range(rank, 400_001)).encode()
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(numbers).digest()


def test_what_a_task_saves_in_its_grace_period_comes_back(unshared_server: MusterServer, tmp_path: Path) -> None:
    command = "trap 'echo saved > checkpoint; exit 1' TERM; echo ready; while true; do sleep 0.1; done"
    spec = {"name": "saving", "cluster": CLUSTER, "command": command, "outputs": ["checkpoint"], "grace": "30s"}
    unshared_server.submit({**spec, "resources": {"cpu": 1}})
    _await_log(unshared_server, "saving", "ready")

    unshared_server.run("kill", "saving", check=True)

    assert unshared_server.wait("saving")["state"] == "Cancelled"
    unshared_server.run("outputs", "saving", "--get", str(tmp_path / "out"), check=True)
    assert [path.read_text() for path in (tmp_path / "out").rglob("checkpoint")] == ["saved\n"]


def _await_log(server: MusterServer, job: str, words: str) -> None:
    said = ""
    for _ in polls(60):
        said = server.run("logs", job).stdout
        if words in said:
            return
    raise AssertionError(f"{job} does not say {words!r}: {said}")


def test_nodes_reach_the_login_node_at_the_address_of_the_file(slurm: RealSlurm, tmp_path: Path) -> None:
    with serving_slurm(tmp_path / "home", slurm, sharedFolder=None, relayAddress=f"127.0.0.1:{free_port()}") as server:
        server.submit({"name": "there", "cluster": CLUSTER, "command": "true", "resources": {"cpu": 1}})
        assert server.wait("there")["state"] == "Succeeded"


def test_job_whose_nodes_have_no_way_to_the_login_node_says_where_they_looked(slurm: RealSlurm, tmp_path: Path) -> None:
    port = free_port()
    with serving_slurm(tmp_path / "home", slurm, sharedFolder=None, relayAddress=f"no-such.invalid:{port}") as server:
        server.submit({"name": "lonely", "cluster": CLUSTER, "command": "true", "resources": {"cpu": 1}})
        assert server.wait("lonely")["state"] == "Failed"
        explained = " ".join(server.run("explain", "lonely").stdout.split())
        assert f"could not connect to it at no-such.invalid, port {port}" in explained
        assert "relayAddress" in explained


def test_folders_on_nodes_are_new_and_private_and_gone_afterwards(unshared_server: MusterServer) -> None:
    """Whoever knows the job from squeue does not know them, and cannot enter them."""
    command = "stat -c '%a %n' $(dirname $(dirname $(dirname $(dirname $MUSTER_TASK_DIR))))"
    spec = {"name": "private", "cluster": CLUSTER, "replicas": 2, "command": command, "where": {"spread": "apart"}}
    job = unshared_server.submit({**spec, "resources": {"cpu": 1}})
    assert unshared_server.wait("private")["state"] == "Succeeded"

    printed = unshared_server.run("logs", "private", check=True).stdout
    found = re.findall(r"(\d+) (/tmp/\S+)", printed)

    assert [mode for mode, _ in found] == ["700", "700"]
    assert len({path for _, path in found}) == 2
    assert not any(job["id"] in path for _, path in found)
    for _ in polls(60):  # they are removed after the end of the task was told
        if not any(Path(path).exists() for _, path in found):
            return
    raise AssertionError(f"not all of {found} are gone")
