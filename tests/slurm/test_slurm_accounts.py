"""Whose jobs they are in Slurm, and clusters whose nodes share no folder with the login node."""

import shutil
from pathlib import Path

import pytest

from tests.parts.server import MusterServer
from tests.parts.slurm import OTHER_PERSON, RealSlurm
from tests.parts.slurm_server import CLUSTER, serving_slurm, token_of

pytestmark = pytest.mark.slurm


def test_a_job_is_its_owners_own_in_slurm(slurm: RealSlurm, tmp_path: Path) -> None:
    if shutil.which("sudo") is None:
        pytest.skip("there is no sudo")
    with serving_slurm(tmp_path / "home", slurm, submitAs="user") as server:
        token = token_of(server, OTHER_PERSON)
        command = "id --user --name | tee who.txt"
        spec = {"name": "own", "cluster": CLUSTER, "command": command, "resources": {"cpu": 1}, "outputs": ["who.txt"]}
        status, job = server.call("POST", "/api/v1/jobs", {"spec": spec}, token=token)
        assert status < 300, job

        assert server.wait(job["id"])["state"] == "Succeeded", server.run("explain", job["id"]).stdout
        assert server.run("logs", job["id"], check=True).stdout.strip() == OTHER_PERSON
        server.run("outputs", job["id"], "--get", str(tmp_path / "out"), check=True)
        assert [path.read_text().strip() for path in (tmp_path / "out").rglob("who.txt")] == [OTHER_PERSON]
        owners = slurm.run("squeue", "--noheader", "--states=all", "--format=%u %j").splitlines()
        assert [line.split()[0] for line in owners if job["id"] in line] == [OTHER_PERSON]


def test_a_job_of_several_roles_runs_without_a_shared_folder(unshared_server: MusterServer, tmp_path: Path) -> None:
    command = "cat data.txt; echo $MUSTER_NODE of $MUSTER_NODES"
    source = tmp_path / "src"
    source.mkdir()
    (source / "data.txt").write_text("brought along\n")
    spec = tmp_path / "job.yaml"
    spec.write_text(
        f"name: wide\ncluster: {CLUSTER}\npackage: ./src\nroles:\n"
        f"  ps: {{replicas: 1, command: '{command}', resources: {{cpu: 1}}}}\n"
        f"  worker: {{replicas: 2, command: '{command}', resources: {{cpu: 3}}}}\n"
    )
    unshared_server.run("submit", str(spec), check=True)

    assert unshared_server.wait("wide")["state"] == "Succeeded", unshared_server.run("explain", "wide").stdout
    log = unshared_server.run("logs", "wide", check=True).stdout
    assert log.count("brought along") == 3
    where = [line.split()[-3:] for line in log.splitlines() if " of " in line]
    assert len(where) == 3
    assert len({node for node, _, _ in where}) > 1, "two workers do not fit on one node"
    assert {tuple(sorted(nodes.split(","))) for _, _, nodes in where} == {tuple(sorted({node for node, _, _ in where}))}
