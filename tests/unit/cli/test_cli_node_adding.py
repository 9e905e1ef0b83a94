"""What `muster node add` and `remove` send and print."""

from typing import Any

import pytest

from muster.cli.failures import Failure
from muster.cli.node_readiness import wait_until_ready
from muster.client.client import Client
from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer, problem

pytestmark = pytest.mark.fast


def clusters(*names: str) -> Answer:
    common = {"default": False, "nodes": 1, "state": "Ready"}
    items = [{"name": "local", "backend": "local", **common}, *({"name": n, "backend": "ssh", **common} for n in names)]
    return Answer(200, {"items": items})


def nodes(state: str, note: str = "", **changes: Any) -> Answer:
    gpus = [{"index": 0, "model": "A100"}, {"index": 1, "model": "A100"}]
    memory = {"total": 2**34, "used": 0}
    node = {"name": "gpu7", "cluster": "lab", "state": state, "cpu": {"total": "8", "used": "0"}, "memory": memory}
    return Answer(200, {"items": [{**node, "gpus": gpus, "tasks": 0, "note": note, "usage": None, **changes}]})


def added(server: TinyServer, cluster: str = "lab") -> None:
    server.on("GET", "/clusters", clusters())
    server.on("POST", f"/clusters/{cluster}/nodes", Answer(201, {"name": "gpu7", "cluster": cluster, "host": "h"}))


def test_all_that_is_given_is_sent(server: TinyServer) -> None:
    added(server, "attic")
    words = (
        "--ssh li@h:24 --cluster attic --key-file /k --jump gate --accept-host-key --address 10.1.0.7 --interface ib0"
    )
    more = "--python python3.11 --root /r --label rack=a --label slots=3 --password --no-wait"
    done = muster(server, "node", "add", "gpu7", *words.split(), *more.split(), stdin="s3cr3t\n")
    assert (done.code, done.out, done.err) == (0, "", "added node gpu7 to cluster attic\n")
    (asked,) = server.requests("POST", "/clusters/attic/nodes")
    assert asked.json == {
        "name": "gpu7",
        "ssh": "li@h:24",
        "keyFile": "/k",
        "jump": "gate",
        "hostKeys": "first-use",
        "address": "10.1.0.7",
        "interface": "ib0",
        "python": "python3.11",
        "root": "/r",
        "labels": {"rack": "a", "slots": "3"},
        "password": "s3cr3t",
    }


def test_the_command_waits_and_prints_what_the_node_has(server: TinyServer) -> None:
    added(server)
    elsewhere = nodes("Ready", cluster="attic")
    server.on("GET", "/nodes", elsewhere, nodes("Ready"))
    done = muster(server, "node", "add", "gpu7", "--ssh", "h")
    assert done.code == 0
    assert done.err.splitlines() == [
        "added node gpu7 to cluster lab",
        "gpu7 is Joining",
        "gpu7 is Ready",
        "8 cores, 16 GiB, 2 GPUs (A100)",
    ]


def test_each_state_is_printed_once(server: TinyServer, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = nodes("Ready", cluster="attic")
    server.on("GET", "/nodes", Answer(200, {"items": []}), elsewhere, nodes("Joining"), nodes("Ready"))
    wait_until_ready(Client(server.url), "lab", "gpu7", poll_every_s=0.001)
    assert capsys.readouterr().err.splitlines() == [
        "gpu7 is Joining",
        "gpu7 is Ready",
        "8 cores, 16 GiB, 2 GPUs (A100)",
    ]


def test_a_node_that_cannot_be_reached_is_told_in_its_own_words(server: TinyServer) -> None:
    added(server)
    server.on("GET", "/nodes", nodes("Unreachable", "li@h does not let us in"))
    done = muster(server, "node", "add", "gpu7", "--ssh", "h")
    assert done.code == 1
    assert "gpu7 cannot be reached: li@h does not let us in" in done.err
    assert "`muster node remove gpu7` removes the node" in done.err


def test_waiting_ends(server: TinyServer) -> None:
    server.on("GET", "/nodes", nodes("Joining"))
    with pytest.raises(Failure, match="gpu7 is still Joining") as failed:
        wait_until_ready(Client(server.url), "lab", "gpu7", poll_every_s=0.001, timeout_s=0.05)
    assert failed.value.exit_code == 1


def test_the_only_ssh_cluster_is_meant_and_several_must_be_told_apart(server: TinyServer) -> None:
    added(server, "attic")
    server.on("GET", "/clusters", clusters("attic"))
    assert muster(server, "node", "add", "gpu7", "--ssh", "h", "--no-wait").err == "added node gpu7 to cluster attic\n"
    server.on("GET", "/clusters", clusters("attic", "lab"))
    done = muster(server, "node", "add", "gpu7", "--ssh", "h", "--no-wait")
    assert done.code == 2
    assert "--cluster: attic, lab" in done.err


def test_what_is_wrong_is_told(server: TinyServer) -> None:
    server.on("GET", "/clusters", clusters())
    wrong = [{"path": "ssh", "message": "'a b' cannot be read", "hint": "expected [user@]host[:port]", "line": None}]
    refused = problem(422, "invalid", "the node cannot be added", problems=wrong)
    server.on("POST", "/clusters/lab/nodes", refused)
    done = muster(server, "node", "add", "gpu7", "--ssh", "a b")
    assert done.code == 1
    assert "ssh: 'a b' cannot be read (expected [user@]host[:port])" in done.err
    assert muster(server, "node", "add", "gpu7").code == 2
    assert muster(server, "node", "add", "gpu7", "--ssh", "h", "--label", "rack").code == 2


def test_a_node_is_removed(server: TinyServer) -> None:
    server.on("DELETE", "/nodes/gpu7", Answer(204))
    done = muster(server, "node", "remove", "gpu7", "--cluster", "lab")
    assert (done.code, done.err) == (0, "removed node gpu7; tasks that run there continue to their end\n")
    (asked,) = server.requests("DELETE", "/nodes/gpu7")
    assert asked.query == {"cluster": ["lab"]}
