"""A job that cannot start for a setting of the cluster file says which."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import NotingJob, submit_noting
from tests.parts.slurm_server import serving_slurm, write_slurm_cluster

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
