"""The cluster file changes while tasks run: nodes leave when they are empty and come back, and a broken file changes
nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.hosts import Host, HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, log_of, node_of, nodes, on_hosts, wait_for_nodes, write_cluster

from .faults import SOON, Scene, scene
from .gangs import SHARED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
def stage(tmp_path: Path, fragile_pool: HostPool, fragile_server: MusterServer) -> Iterator[Scene]:
    with scene(fragile_server, fragile_pool, tmp_path / "control", **SOON) as made:
        yield made


def _write(stage: Scene, hosts: list[Host]) -> Path:
    return write_cluster(stage.server.home, [node_of(host) for host in hosts], **SOON)


def _problems(stage: Scene) -> str:
    done = stage.server.run("vc", "list")
    return done.stdout + done.stderr


def _wait_until_told(stage: Scene, *words: str) -> None:
    told = ""
    for _ in polls(20):
        told = _problems(stage)
        if all(word in told for word in words):
            return
    raise AssertionError(f"nobody says {words}: {told}")


def test_a_node_that_leaves_its_file_drains_is_gone_and_may_come_back(stage: Scene) -> None:
    leaving, staying = stage.pool[0], stage.pool.hosts[1:]
    spec = on_hosts("lasting", 1, f"hostname; until [ -e {SHARED}/go ]; do sleep 0.05; done; echo end")
    spec["where"] = {"nodes": [leaving.name]}
    job = stage.server.submit(spec)["id"]
    stage.server.wait_for_state(job, "Running")
    _write(stage, staying)
    stage.wait_for(leaving, "Draining", "no longer in the cluster's file")
    assert stage.server.call("GET", f"/api/v1/jobs/{job}")[1]["state"] == "Running"
    (stage.control / "go").touch()
    ended = stage.server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert log_of(stage.server, job, "worker-0") == f"{leaving.name}\nend\n"
    wait_for_nodes(stage.server, {leaving.name: None})
    _write(stage, [leaving, *staying])
    stage.wait_for(leaving, "Ready")
    spec["name"] = "again"
    assert stage.server.wait(stage.server.submit(spec)["id"])["state"] == "Succeeded"


def test_a_node_that_is_given_back_while_it_drains_goes_on_as_it_was(stage: Scene) -> None:
    leaving = stage.pool[0]
    spec = on_hosts("lasting", 5, f"until [ -e {SHARED}/go ]; do sleep 0.05; done")
    job = stage.server.submit(spec)["id"]
    stage.server.wait_for_state(job, "Running")
    _write(stage, stage.pool.hosts[1:])
    stage.wait_for(leaving, "Draining")
    _write(stage, stage.pool.hosts)
    stage.wait_for(leaving, "Ready")
    (stage.control / "go").touch()
    ended = stage.server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)


def test_a_broken_file_leaves_all_as_it_is_and_says_what_is_wrong_where(stage: Scene) -> None:
    job = stage.server.submit(on_hosts("lasting", 5, f"until [ -e {SHARED}/go ]; do sleep 0.05; done"))["id"]
    stage.server.wait_for_state(job, "Running")
    before = _states(stage)
    file = _write(stage, stage.pool.hosts)
    good = file.read_text()
    file.write_text(good.replace("lostAfter: 4s", "lostAfter: soon"))
    _wait_until_told(stage, file.name, "lostAfter")
    file.write_text(good + "nodes: [\n")
    _wait_until_told(stage, file.name, "line")
    assert _states(stage) == before
    file.write_text(good)
    for _ in polls(20):
        if file.name not in _problems(stage):
            break
    (stage.control / "go").touch()
    ended = stage.server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert file.name not in _problems(stage)


def _states(stage: Scene) -> dict[str, Any]:
    return {name: node["state"] for name, node in nodes(stage.server).items()}


def test_a_new_file_is_a_new_cluster_within_seconds(stage: Scene) -> None:
    file = _write(stage, stage.pool.hosts[1:])
    text = file.read_text().replace(f"name: {CLUSTER}\n", "name: annex\n")
    host = stage.pool[0]
    for other in stage.pool.hosts[2:]:
        text = text.replace(other.name, f"{other.name}-of-annex")
    annex = file.with_name("annex.yaml")
    annex.write_text(text)
    spec = on_hosts("there", 1, "echo in the annex") | {"cluster": "annex"}
    for _ in polls(20):
        status, answer = stage.server.call("POST", "/api/v1/jobs", {"spec": spec})
        if status == 201:
            break
    assert status == 201, answer
    assert stage.server.wait(answer["id"])["state"] == "Succeeded"
    wait_for_nodes(stage.server, {host.name: None})
    annex.unlink()
    for _ in polls(30):
        if "annex" not in {cluster["name"] for cluster in stage.server.call("GET", "/api/v1/clusters")[1]["items"]}:
            return
    raise AssertionError("the cluster stays though its file is gone")
