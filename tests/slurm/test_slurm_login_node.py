"""A login node that is reached over SSH: Slurm's commands work there, and not on the server's own machine."""

from pathlib import Path

import pytest

from tests.parts.hosts import HostPool
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER, await_slurm, serving_slurm

pytestmark = pytest.mark.slurm
_SHARED = "/mnt/muster"


@pytest.mark.parametrize("shared", [_SHARED, None], ids=["shared", "unshared"])
def test_job_runs_through_a_login_node_over_ssh(
    pool: HostPool, remote: RealSlurm, tmp_path: Path, shared: str | None
) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "data.txt").write_text("brought along\n")
    spec = tmp_path / "job.yaml"
    command = "cat data.txt; echo on $MUSTER_NODE"
    spec.write_text(f"name: far\ncluster: {CLUSTER}\npackage: ./src\nreplicas: 2\ncommand: {command}\n")
    with serving_slurm(tmp_path / "home", remote, login=_login(pool), sharedFolder=shared, conf=None) as server:
        server.run("submit", str(spec), check=True)

        assert server.wait("far")["state"] == "Succeeded", server.run("explain", "far").stdout
        log = server.run("logs", "far", check=True).stdout
        assert log.count("brought along") == 2
        assert log.count("on n") == 2


def test_job_goes_on_while_the_login_node_is_away(pool: HostPool, remote: RealSlurm, tmp_path: Path) -> None:
    go = "/mnt/go-far"
    command = f"echo begun; while [ ! -e {go} ]; do sleep 0.1; done; echo finished"
    with serving_slurm(tmp_path / "home", remote, login=_login(pool), sharedFolder=_SHARED, conf=None) as server:
        job = server.submit({"name": "far", "cluster": CLUSTER, "command": command})
        server.wait_for_state(job["id"], "Running")

        pool[0].kill_sshd()
        pool[0].kill("agents/")
        pool[0].path(go).touch()
        pool[0].start_sshd()
        await_slurm(server)

        assert server.wait(job["id"])["state"] == "Succeeded", server.run("explain", job["id"]).stdout
        assert server.run("logs", job["id"], check=True).stdout.splitlines() == ["begun", "finished"]


def _login(pool: HostPool) -> dict[str, str]:
    return {"host": pool[0].address, "user": "muster", "keyFile": str(pool.key_file), "hostKeys": "first-use"}
