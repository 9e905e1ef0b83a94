"""Nodes added and removed over the API: files, rights, words and secrets."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import unique
from tests.parts.server import MusterServer, polls, running_server

PASSWORD = "password-41d7aa-secret"
NOWHERE = "nobody@127.0.0.1:1"
"""Where nothing answers."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """One of its own: clusters come and go."""
    with running_server(tmp_path_factory.mktemp("adding"), {"MUSTER_LOG_LEVEL": "debug"}) as started:
        yield started


@pytest.fixture
def admin(server: MusterServer) -> Caller:
    return Caller(server, server.token)


@pytest.fixture
def cluster() -> str:
    return unique("lab")


def files(server: MusterServer) -> dict[Path, str]:
    found = [path for path in (server.home / "clusters.d").rglob("*") if path.is_file() and path.name != ".lock"]
    return {path: path.read_text() for path in found}


def eventually_has(admin: Caller, cluster: str, *names: str) -> list[Any]:
    for _ in polls(20):
        nodes = [node for node in ok(admin.get("/nodes"))["items"] if node["cluster"] == cluster]
        if sorted(node["name"] for node in nodes) == sorted(names):
            return nodes
    raise AssertionError(f"cluster {cluster} has {nodes}, not {names}")


def test_a_node_joins_a_cluster_that_it_makes_and_leaves_it(server: MusterServer, admin: Caller, cluster: str) -> None:
    body = {"name": "gpu7", "ssh": NOWHERE, "hostKeys": "first-use", "labels": {"rack": "a"}}
    answer = ok(admin.post(f"/clusters/{cluster}/nodes", body), 201)
    assert answer == {"name": "gpu7", "cluster": cluster, "host": "127.0.0.1"}
    (node,) = eventually_has(admin, cluster, "gpu7")
    assert node["labels"]["rack"] == "a"
    assert cluster in [known["name"] for known in ok(admin.get("/clusters"))["items"]]
    ok(admin.send("DELETE", "/nodes/gpu7", params={"cluster": cluster}), 204)
    assert not (server.home / "clusters.d" / f"{cluster}.added.yaml").exists()
    eventually_has(admin, cluster)


def test_a_password_is_in_its_file_and_nowhere_else(server: MusterServer, admin: Caller, cluster: str) -> None:
    name = unique("gpu")
    ok(admin.post(f"/clusters/{cluster}/nodes", {"name": name, "ssh": NOWHERE, "password": PASSWORD}), 201)
    secret = server.home / "clusters.d" / "secrets" / f"{cluster}.{name}.password"
    assert secret.read_text() == f"{PASSWORD}\n"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(secret.parent.stat().st_mode) == 0o700
    eventually_has(admin, cluster, name)
    ok(admin.send("DELETE", f"/nodes/{name}"), 204)
    assert not secret.exists()
    events = ok(admin.get("/events", params={"kind": "audit", "limit": 1000}))["items"]
    told = [(event["kind"], event["data"]["cluster"]) for event in events if event["data"].get("node") == name]
    assert told == [("audit.node.add", cluster), ("audit.node.remove", cluster)]
    shown = {
        "events": admin.get("/events?limit=1000").text,
        "nodes": admin.get("/nodes").text,
        "log": (server.home / "stderr.log").read_text(),
        "files": "".join(files(server).values()),
    }
    assert [place for place, text in shown.items() if PASSWORD in text] == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"ssh": "two words"}, "ssh"),
        ({"ssh": "host:99999"}, "port"),
        ({"name": "../x"}, "name"),
        ({"keyFile": "/missing/key"}, "keyFile"),
        ({"jump": "a,,b"}, "jump"),
        ({"labels": {"muster/conda": "x"}}, "labels.muster/conda"),
        ({"hostKey": "nonsense"}, "hostKey"),
    ],
)
def test_a_wrong_node_changes_nothing(
    server: MusterServer, admin: Caller, cluster: str, change: dict[str, Any], path: str
) -> None:
    before = files(server)
    body = {"name": "gpu7", "ssh": NOWHERE, "password": PASSWORD, **change}
    answer = admin.post(f"/clusters/{cluster}/nodes", body)
    refused = problem(answer, 422, "invalid")
    assert [found["path"] for found in refused["problems"]] == [path]
    assert PASSWORD not in answer.text
    assert files(server) == before
    assert cluster not in [known["name"] for known in ok(admin.get("/clusters"))["items"]]


def test_a_node_of_an_admins_own_file_stays(server: MusterServer, admin: Caller, cluster: str) -> None:
    file = server.home / "clusters.d" / f"{cluster}.yaml"
    file.write_text("backend: ssh\nnodes:\n- {name: own, host: 127.0.0.1, port: 1}\n")
    eventually_has(admin, cluster, "own")
    refused = problem(admin.send("DELETE", "/nodes/own", params={"cluster": cluster}), 409, "conflict")
    assert f"{cluster}.yaml, line 3" in refused["detail"]
    twice = problem(admin.post(f"/clusters/{cluster}/nodes", {"name": "own", "ssh": NOWHERE}), 422, "invalid")
    assert twice["problems"][0]["path"] == "name"
    file.unlink()
    eventually_has(admin, cluster)


def test_what_is_not_there_or_the_servers_own_is_not_removed(server: MusterServer, admin: Caller) -> None:
    problem(admin.send("DELETE", "/nodes/nowhere"), 404, "not-found")
    own = next(node["name"] for node in ok(admin.get("/nodes"))["items"] if node["cluster"] == "local")
    problem(admin.send("DELETE", f"/nodes/{own}"), 409, "conflict")
    problem(admin.post("/clusters/local/nodes", {"name": "x", "ssh": NOWHERE}), 422, "invalid")


def test_a_broken_node_list_leaves_the_running_nodes_and_is_told(
    server: MusterServer, admin: Caller, cluster: str, tmp_path: Path
) -> None:
    listed = tmp_path / "gpu_slaver_info.json"
    listed.write_text('[{"name": "n1", "ip": "127.0.0.1", "user_name": "lab", "gpu_count": 1, "gpu_info": ["V100"]}]')
    file = server.home / "clusters.d" / f"{cluster}.yaml"
    file.write_text(f"backend: ssh\ndefaults: {{port: 1}}\nnodesFile: {listed}\n")
    eventually_has(admin, cluster, "n1")
    good = listed.read_text()
    listed.write_text("[\n{]")
    for _ in polls(20):
        if told := [found for found in ok(admin.get("/virtual-clusters"))["problems"] if found["file"] == str(listed)]:
            break
    assert told[0]["line"] == 2
    eventually_has(admin, cluster, "n1")
    listed.write_text(good.replace("]}]", ']}, {"name": "n2", "ip": "127.0.0.1"}]'))
    eventually_has(admin, cluster, "n1", "n2")
    assert ok(admin.get("/virtual-clusters"))["problems"] == []
    file.unlink()
    eventually_has(admin, cluster)


def test_the_command_says_why_a_node_cannot_be_reached(server: MusterServer, cluster: str) -> None:
    done = server.run("node", "add", "far", "--ssh", NOWHERE, "--cluster", cluster, "--label", "rack=a")
    assert done.returncode == 1
    assert f"added node far to cluster {cluster}" in done.stderr
    assert "far cannot be reached: " in done.stderr
    assert server.run("node", "remove", "far", "--cluster", cluster, check=True).returncode == 0
