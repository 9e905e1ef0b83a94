"""Lines of the cluster file come before every task, and a job that cannot start for one of them says which."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import NotingJob, submit_noting
from tests.parts.slurm_server import CLUSTER, serving_slurm, write_slurm_cluster

pytestmark = pytest.mark.slurm
_SETTINGS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "interface": ({"network": {"interface": "ib9"}}, "see `network.interface` in the cluster file"),
    "prolog": ({"prolog": ["exit 3"]}, "a line of `prolog` in the cluster file ended the script"),
    "module": ({"modules": ["no-such/module"], "sharedFolder": None}, "see `modules` in the cluster file"),
}


def test_key_is_named(slurm: RealSlurm, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for cluster, (keys, _) in _SETTINGS.items():
        write_slurm_cluster(home, slurm, cluster, **keys)
    with serving_slurm(home, slurm) as server:
        jobs = {name: submit_noting(server, slurm, name, cluster=name, retry={"max": 0}) for name in _SETTINGS}
        for cluster, (_, words) in _SETTINGS.items():
            assert words in _told(server, jobs[cluster], words)


def _told(server: MusterServer, job: NotingJob, words: str) -> str:
    """What is explained, as soon as it has these words."""
    told = ""
    for _ in polls(60):
        told = " ".join(server.run("explain", job.id).stdout.split())
        if words in told:
            break
    return told


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "unshared"])
def test_module_is_loaded_for_tasks(slurm: RealSlurm, tmp_path: Path, shared: bool) -> None:
    """`dot` is one that comes with environment-modules: it adds the working directory to the PATH."""
    if not Path("/etc/profile.d/modules.sh").exists():
        pytest.skip("there are no environment modules: run scripts/install-slurm.sh")
    more = {} if shared else {"sharedFolder": None}
    with serving_slurm(tmp_path / "home", slurm, modules=["dot"], **more) as server:
        command = 'echo "$LOADEDMODULES $PATH"'
        job = server.submit({"name": "loaded", "cluster": CLUSTER, "command": command, "resources": {"cpu": 1}})["id"]

        assert server.wait(job)["state"] == "Succeeded", server.run("explain", job).stdout
        modules, _, path = server.run("logs", job, check=True).stdout.strip().partition(" ")
        checked = server.run("cluster", "check", "--connect")
    assert checked.returncode == 0, checked.stderr
    assert modules == "dot"
    assert path.endswith(":.")
