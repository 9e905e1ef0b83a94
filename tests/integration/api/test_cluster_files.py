"""Cluster files, edited through a real server."""

from collections.abc import Iterator

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.parts.server import MusterServer, polls, running_server

LAB = "name: lab\nbackend: ssh\naccess: {users: [nobody-here]}\nnodes:\n- {name: gpu1, host: 127.0.0.1, port: 1}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("edited")) as running:
        yield running


def clusters(admin: Caller) -> set[str]:
    return {cluster["name"] for cluster in ok(admin.get("/clusters"))["items"]}


def until_clusters(admin: Caller, wanted: set[str]) -> None:
    for _ in polls(60):
        if clusters(admin) == wanted:
            return
    raise AssertionError(f"there are {clusters(admin)}, not {wanted}")


def test_a_file_is_tried_written_changed_and_removed(server: MusterServer) -> None:
    admin = Caller(server, server.token)
    path = "/cluster-files/lab.yaml"
    dry = ok(admin.send("PUT", path, params={"dryRun": True}, json={"text": LAB}))
    assert (dry["isWritten"], dry["problems"], dry["sha256"]) == (False, [], None)
    assert dry["warnings"] == ["cluster lab: there is no user nobody-here"]
    assert dry["diff"].startswith("--- /dev/null\n+++ b/lab.yaml\n")
    assert ok(admin.get("/cluster-files"))["items"] == []
    made = ok(admin.send("PUT", path, json={"text": LAB}))
    until_clusters(admin, {"local", "lab"})
    shown = ok(admin.get(path))
    assert (shown["text"], shown["sha256"], shown["isInForce"]) == (LAB, made["sha256"], True)
    assert (shown["clusters"], shown["problems"]) == (["lab"], [])
    wrong = LAB.replace("port", "prot")
    dry = ok(admin.send("PUT", path, params={"dryRun": True}, json={"text": wrong, "base": made["sha256"]}))
    assert [(one["path"], one["line"], one["message"]) for one in dry["problems"]] == [
        ("nodes[0].prot", 5, "unknown key")
    ]
    refused = problem(admin.send("PUT", path, json={"text": wrong, "base": made["sha256"]}), 422, "invalid")
    assert refused["problems"][0]["line"] == 5
    problem(admin.send("PUT", path, json={"text": LAB}), 409, "conflict")
    problem(admin.send("PUT", path, json={"text": LAB, "base": "0" * 64}), 409, "stale-write")
    second = ok(admin.send("PUT", path, json={"text": LAB + "# more\n", "base": made["sha256"]}))
    assert ok(admin.get(path, params={"previous": True}))["text"] == LAB
    ok(admin.send("DELETE", path, params={"dryRun": True}))
    ok(admin.send("DELETE", path, params={"base": second["sha256"]}))
    until_clusters(admin, {"local"})
    problem(admin.get(path), 404, "not-found")
    acts = ok(admin.get("/audit", params={"kind": "cluster-file."}))["items"]
    assert [act["kind"] for act in acts] == ["audit.cluster-file.remove", *["audit.cluster-file.write"] * 2]


def test_names_that_lead_elsewhere_are_refused(server: MusterServer) -> None:
    admin = Caller(server, server.token)
    for name in ("..%2Flab.yaml", "%2Fetc%2Fx.yaml", ".x.yaml", "x.txt"):
        assert admin.send("PUT", f"/cluster-files/{name}", json={"text": LAB}).status_code in (404, 405, 422)
    assert not list(server.home.glob("*.yaml"))
