"""What `muster vc`, `muster get quota` and `muster users groups` print and ask for."""

from typing import Any

import pytest

from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer, problem

pytestmark = pytest.mark.fast


def a_share(gpu: float = 0, cpu: str = "0", memory: str = "0", **models: int) -> dict[str, Any]:
    return {"gpu": gpu, "gpuModels": models, "cpu": cpu, "memory": memory}


def a_vc(**changes: Any) -> dict[str, Any]:
    no_limits = {"runningGpus": None, "runningJobs": None, "gpuHoursPerWeek": None, "queuedJobs": None}
    return {
        "name": "vision",
        "cluster": "lab",
        "description": "The vision group.",
        "guaranteed": a_share(12, "64", "256Gi", V100=8, A100=4),
        "max": None,
        "borrow": True,
        "used": a_share(8.5, "10"),
        "borrowed": a_share(2),
        "lent": a_share(),
        "running": 3,
        "waiting": 7,
        "policy": "fair",
        "predictionError": 0.124,
        "priorities": ["low", "normal"],
        "mayRefusePreemption": False,
        "limits": {**no_limits, "runningGpus": 16},
        "userLimits": no_limits,
        "defaults": {
            "env": {"A": "1"},
            "runtime": {"conda": "py310"},
            "mounts": [{"source": "data", "target": "/data", "readOnly": True}],
            "resources": None,
        },
        "users": None,
        "groups": None,
        **changes,
    }


def test_virtual_clusters_are_listed_with_what_they_have_and_use(server: TinyServer) -> None:
    server.on("GET", "/virtual-clusters", Answer(200, {"items": [a_vc()], "problems": []}))
    outcome = muster(server, "vc", "list")
    titles, line = outcome.out.splitlines()
    assert titles.split() == ["NAME", "POLICY", "GUARANTEED", "MAX", "USED", "BORROWED", "LENT", "RUNNING", "WAITING"]
    assert "12 GPU (V100: 8, A100: 4), 64 CPU, 256Gi" in line
    assert "8.5 GPU, 10 CPU  2 GPU     -           3        7" in line
    assert outcome.err == ""
    assert "±12%" in muster(server, "vc", "list", "-o", "wide").out
    assert muster(server, "vc", "list", "-o", "name").out == "vision\n"


def test_what_is_wrong_with_the_files_is_told_beside_the_list(server: TinyServer) -> None:
    wrong = {"file": "a.yaml", "line": 3, "path": "max.gpus", "message": "unknown key", "hint": "did you mean gpu?"}
    whole = {"items": [a_vc()], "problems": [wrong, {**wrong, "file": "b.yaml", "line": None, "path": ""}]}
    server.on("GET", "/virtual-clusters", Answer(200, whole))
    outcome = muster(server, "vc", "list", "-o", "json")
    assert outcome.document == whole
    assert outcome.err.splitlines() == [
        "warning: a.yaml, line 3: max.gpus: unknown key (did you mean gpu?)",
        "warning: b.yaml: unknown key (did you mean gpu?)",
    ]


def test_a_server_without_virtual_clusters_says_so(server: TinyServer) -> None:
    server.on("GET", "/virtual-clusters", Answer(200, {"items": [], "problems": []}))
    outcome = muster(server, "vc", "list")
    assert (outcome.code, outcome.err) == (0, "there are no virtual clusters; all users share everything\n")


def test_describe_shows_everything_about_one(server: TinyServer) -> None:
    server.on("GET", "/virtual-clusters/vision", Answer(200, a_vc(users=["li"])))
    lines = dict(line.split(":", 1) for line in muster(server, "vc", "describe", "vision").out.splitlines())
    told = {name: value.strip() for name, value in lines.items()}
    assert told["Guaranteed"] == "12 GPU (V100: 8, A100: 4), 64 CPU, 256Gi"
    assert (told["Max"], told["Borrowed"], told["Waiting"]) == ("no limit", "2 GPU", "7")
    assert (told["Prediction error"], told["Limits"], told["Users"]) == ("±12%", "runningGpus=16", "li")
    assert told["Default mounts"] == "data at /data"
    assert "Lent" not in told
    assert muster(server, "vc", "describe", "vision", "-o", "json").document["name"] == "vision"


def test_describe_of_what_is_not_there_fails(server: TinyServer) -> None:
    server.on("GET", "/virtual-clusters/x", problem(404, "not-found", "there is no virtual cluster 'x'"))
    outcome = muster(server, "vc", "describe", "x")
    assert (outcome.code, outcome.err.splitlines()[0]) == (1, "error: there is no virtual cluster 'x'")


def test_quotas_show_limit_used_and_what_waits(server: TinyServer) -> None:
    quota = {"vc": "vision", "user": "li", "kind": "runningGpus", "limit": 4, "used": 3.5, "waiting": 2}
    whole = {**quota, "user": None, "kind": "gpuHoursPerWeek", "limit": 500, "used": 12, "waiting": 0, "jobs": []}
    server.on("GET", "/quotas", Answer(200, {"items": [{**quota, "jobs": ["mnist", "bert"]}, whole]}))
    lines = muster(server, "get", "quota", "--user", "li").out.splitlines()
    assert server.asked[0].query == {"user": ["li"]}
    assert lines[1].split() == ["vision", "li", "runningGpus", "3.5", "4", "2", "mnist", "bert"]
    assert lines[2].split() == ["vision", "-", "gpuHoursPerWeek", "12", "500", "0", "-"]


def test_without_limits_that_is_said(server: TinyServer) -> None:
    server.on("GET", "/quotas", Answer(200, {"items": []}))
    outcome = muster(server, "get", "quota", "-o", "json")
    assert (outcome.document, outcome.err) == ({"items": []}, "no limits\n")


def test_users_are_put_into_groups(server: TinyServer) -> None:
    user = {"name": "li", "role": "user", "disabled": False, "groups": ["guests", "vision"], "createdAt": None}
    server.on("PATCH", "/users/li", Answer(200, user), Answer(200, {**user, "groups": []}))
    server.on("POST", "/users", Answer(201, user))
    server.on("GET", "/users", Answer(200, {"items": [user]}))
    assert muster(server, "users", "groups", "li", "vision", "guests").err == "the groups of li are guests, vision\n"
    assert muster(server, "users", "groups", "li", "--none").err == "li is in no group\n"
    assert [asked.json for asked in server.asked] == [{"groups": ["vision", "guests"]}, {"groups": []}]
    for words in ((), ("vision", "--none")):
        assert muster(server, "users", "groups", "li", *words).code == 2
    muster(server, "users", "add", "li", "--no-password", "--group", "vision", "--group", "guests")
    assert server.asked[-1].json["groups"] == ["vision", "guests"]
    assert "guests,vision" in muster(server, "get", "users").out
