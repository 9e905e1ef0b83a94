"""Environments on hosts of a pool: found without naming the cluster, and missed where they are not."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import CLUSTER, on_hosts, serving

FOLDER = "/srv/envs"
ALONE = "/opt/alone"
PREFIX = ["python3", "-c", "import sys; print(sys.prefix)"]


@pytest.fixture(scope="module")
def server(pool: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """All hosts share an environment; the first has one of its own."""
    envs = tmp_path_factory.mktemp("envs")
    for place in (envs / "all", pool[0].path(ALONE)):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    pool.share(envs, Path(FOLDER))
    with serving(tmp_path_factory.mktemp("home"), pool, folders={"envs": FOLDER}) as made:
        yield made
    for host in pool.hosts:
        host.unshare(Path(FOLDER))


def test_an_environment_is_tested_on_the_cluster_that_has_it(server: MusterServer, pool: HostPool) -> None:
    tried = server.json("env", "test", "envs/all")["items"]
    assert {one["node"] for one in tried} == {host.name for host in pool.hosts}
    (one,) = server.json("env", "test", "envs/all", "--node", pool[1].name)["items"]
    assert (one["node"], one["ok"]) == (pool[1].name, True)


def test_an_environment_that_nobody_has_is_refused_with_what_there_is(server: MusterServer) -> None:
    refused = server.run("env", "test", "unheard-of")
    assert refused.returncode == 1
    assert "no cluster offers an environment 'unheard-of'" in refused.stderr
    assert "envs/all" in refused.stderr


@pytest.mark.parametrize("place", [0, 1])
def test_a_job_runs_in_its_environment_or_not_at_all(server: MusterServer, pool: HostPool, place: int) -> None:
    spec = on_hosts("alone", 1, "", runtime={"venv": ALONE}) | {"command": PREFIX, "where": {"nodes": pool[place].name}}
    job = server.submit(spec)
    assert server.wait(job["id"])["state"] == ("Succeeded" if place == 0 else "Failed")
    told = server.run("logs", job["id"], check=True).stdout
    assert told == (f"{ALONE}\n" if place == 0 else f"muster: there is no environment {ALONE} on this node\n")


def test_a_folder_that_the_cluster_has_not_is_refused_at_once(server: MusterServer) -> None:
    spec = {"name": "typo", "cluster": CLUSTER, "command": "true", "runtime": {"venv": "env/all"}}
    status, told = server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert status == 422
    assert "did you mean envs?" in str(told)
