"""Alerts as a real server answers them."""

from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user
from tests.parts.server import polls, running_server

KEYS = {"id", "severity", "kind", "subject", "message", "advice", "since", "concernsMe", "numbers"}
SEVERITIES = ("critical", "warning", "info")
EXPECTED = {"node-unreachable", "cluster-unreachable", "cluster-file"}


def test_an_unreachable_node_and_a_wrong_file_are_told_to_admins_and_go_away_when_mended(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "clusters.d"
    folder.mkdir(parents=True)
    (folder / "lab.yaml").write_text("backend: ssh\nnodes: [{name: far, host: 127.0.0.1, port: 1}]\nspeed: 1\n")
    (folder / "pool.yaml").write_text("backend: ssh\nnodes: [{name: away, host: 127.0.0.1, port: 1}]\n")
    with running_server(folder.parent) as server:
        admin = Caller(server, server.token)
        user = new_user(admin, "user")
        for _ in polls(60):
            kinds = {item["kind"] for item in ok(admin.get("/alerts"))["items"]}
            if kinds >= EXPECTED:
                break
        answer = ok(admin.get("/alerts"))
        assert all(set(item) == KEYS for item in answer["items"])
        assert answer["total"] == len(answer["items"]) == sum(answer["counts"][one] for one in SEVERITIES)
        (wrong,) = [item for item in answer["items"] if item["numbers"].get("line") == 3]
        assert (wrong["kind"], wrong["subject"]["name"], wrong["concernsMe"]) == ("cluster-file", "lab.yaml", True)
        (away,) = [item for item in answer["items"] if item["kind"] == "cluster-unreachable"]
        assert away["message"] == "cluster pool can start no job: its only node is not ready"
        assert "cluster-file" not in {item["kind"] for item in ok(user.get("/alerts"))["items"]}
        assert ok(user.get("/alerts", params={"mine": True}))["total"] == 0
        assert len(ok(admin.get("/alerts", params={"limit": 1}))["items"]) == 1
        problem(admin.get("/alerts", params={"limit": 0}), 400, "bad-request")
        for file in ("lab.yaml", "pool.yaml"):
            (folder / file).unlink()
        for _ in polls(60):
            if not {item["kind"] for item in ok(admin.get("/alerts"))["items"]} & EXPECTED:
                return
        pytest.fail("the alerts stay")
