"""Two names for one machine: its cards are given out once, and what runs there is not lost for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.parts.hosts import HostOptions, HostPool
from tests.parts.server import MusterServer, end_all_jobs, polls
from tests.parts.ssh_cluster import log_of, node_of, nodes, on_hosts, wait_for_nodes, write_cluster


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    with HostPool([HostOptions(fake_gpus="2xA100")]) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    made = MusterServer(tmp_path / "home")
    yield made
    if made.is_running:
        end_all_jobs(made)
    made.stop()


def test_the_second_name_is_not_let_in_until_the_first_has_left(server: MusterServer, pool: HostPool) -> None:
    first, second = node_of(pool[0]), node_of(pool[0]) | {"name": "alias"}
    write_cluster(server.home, [first])
    server.start()
    wait_for_nodes(server, {pool[0].name: "Ready"})
    write_cluster(server.home, [first, second])
    found = wait_for_nodes(server, {pool[0].name: "Ready", "alias": "Unreachable"})
    assert f"it is the machine of node lab/{pool[0].name} under another name" in found["alias"]["note"]
    write_cluster(server.home, [second])
    wait_for_nodes(server, {pool[0].name: None, "alias": "Ready"})


def test_the_second_name_leaves_at_once_when_it_is_taken_out(server: MusterServer, pool: HostPool) -> None:
    """It never had a task, so nobody waits for the time after which those of a silent node are lost."""
    first, second = node_of(pool[0]), node_of(pool[0]) | {"name": "alias"}
    write_cluster(server.home, [first, second], lostAfter="1h")
    server.start()
    found = {}
    for _ in polls(60):
        found = {name: node["state"] for name, node in nodes(server).items()}
        if sorted(found.values()) == ["Ready", "Unreachable"]:
            break
    (refused,) = [name for name, state in found.items() if state == "Unreachable"]
    write_cluster(server.home, [one for one in (first, second) if one["name"] != refused], lostAfter="1h")
    wait_for_nodes(server, {refused: None})


def test_another_cluster_does_not_get_the_machine_either(server: MusterServer, pool: HostPool) -> None:
    write_cluster(server.home, [node_of(pool[0])])
    server.start()
    wait_for_nodes(server, {pool[0].name: "Ready"})
    attic = {"name": "attic", "backend": "ssh", "nodes": [node_of(pool[0])]}
    (server.home / "clusters.d" / "attic.yaml").write_text(yaml.safe_dump(attic))
    for _ in polls(60):
        _, page = server.call("GET", "/api/v1/nodes?cluster=attic")
        if any("under another name" in node["note"] for node in page.get("items", ())):
            break
    else:
        raise AssertionError(page)
    assert nodes(server)[pool[0].name]["state"] == "Ready"


def test_a_machine_at_work_stays_who_it_was_after_a_restart(
    server: MusterServer, pool: HostPool, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    go.mkdir()
    pool.share(go)
    first, second = node_of(pool[0]), node_of(pool[0]) | {"name": "alias"}
    write_cluster(server.home, [first])
    server.start()
    job = server.submit(on_hosts("work", 1, f"echo once; while [ ! -e {go}/on ]; do sleep 0.1; done"))
    server.wait_for_state(job["id"], "Running")
    server.stop()
    write_cluster(server.home, [second, first])
    server.start()
    wait_for_nodes(server, {pool[0].name: "Ready", "alias": "Unreachable"})
    (go / "on").touch()
    ended = server.wait(job["id"])
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert log_of(server, job["id"], "worker-0") == "once\n"
    pool[0].unshare(go)
