"""Metrics over the API: reported by those who may change the job, answered as curves and summaries."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user
from tests.parts.server import MusterServer, running_server

LIMIT = 50


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("metrics")
    (home / "config.yaml").write_text(f"limits: {{metricPointsPerJob: {LIMIT}}}\n")
    with running_server(home) as running:
        yield running


@pytest.fixture
def admin(server: MusterServer) -> Caller:
    return Caller(server, server.token)


@pytest.fixture
def job(admin: Caller, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("_", "-").replace("test-", "")[:60].strip("-")
    return str(admin.submit({"name": name, "command": "true", "hold": True})["id"])


def point(step: int, value: Any, name: str = "loss") -> dict[str, Any]:
    return {"name": name, "step": step, "at": f"2024-01-02T03:04:{step % 60:02d}.5Z", "value": value}


def test_what_is_reported_twice_is_there_once(admin: Caller, job: str) -> None:
    body = {"points": [point(1, 0.5), point(2, "NaN"), point(3, 0.25), point(3, 0.9, "acc")]}
    first = ok(admin.post(f"/jobs/{job}/metrics", body))
    assert ok(admin.post(f"/jobs/{job}/metrics", body)) == first
    found = ok(admin.get(f"/jobs/{job}/metrics"))
    assert (found["id"], found["attempt"], found["room"]) == (job, 1, LIMIT - 4)
    acc, loss = found["metrics"]
    assert (acc["name"], loss["name"], loss["count"]) == ("acc", "loss", 3)
    assert [one["value"] for one in loss["points"]] == [0.5, "NaN", 0.25]
    assert loss["last"] == {"step": 3, "at": "2024-01-02T03:04:03.500Z", "value": 0.25}
    assert (loss["lowest"], loss["highest"]) == ({"step": 3, "value": 0.25}, {"step": 1, "value": 0.5})


def test_a_curve_has_as_many_points_as_were_asked_for_and_no_more_are_kept_than_allowed(
    admin: Caller, job: str
) -> None:
    ok(admin.post(f"/jobs/{job}/metrics", {"points": [point(step, step) for step in range(LIMIT + 9)]}))
    (loss,) = ok(admin.get(f"/jobs/{job}/metrics", params={"name": "loss", "points": 3}))["metrics"]
    assert loss["count"] == LIMIT
    assert [one["step"] for one in loss["points"]] == [0, 24, LIMIT - 1]
    assert loss["last"]["step"] == loss["highest"]["step"] == LIMIT + 8
    (loss,) = ok(admin.get(f"/jobs/{job}/metrics", params={"from": LIMIT - 2}))["metrics"]
    assert [one["step"] for one in loss["points"]] == [LIMIT - 2, LIMIT - 1]
    assert ok(admin.get(f"/jobs/{job}/metrics", params={"points": 0}))["room"] == 0


def test_everything_that_is_wrong_is_said_with_its_place(admin: Caller, job: str) -> None:
    bad = {"name": "a\nb", "step": 1, "at": "1969-01-01T00:00:00Z", "value": 1}
    refused = problem(admin.post(f"/jobs/{job}/metrics", {"points": [point(1, 1), bad]}), 422, "invalid")
    assert [one["path"] for one in refused["problems"]] == ["points[1].name", "points[1].at"]
    later = {"attempt": 2, "points": [point(1, 1)]}
    assert "no attempt 2" in problem(admin.post(f"/jobs/{job}/metrics", later), 422, "invalid")["detail"]


def test_runs_are_found_by_what_they_were_given_and_reported(admin: Caller) -> None:
    ids = {}
    for lr, acc in ((0.1, 0.8), (0.1, 0.9), (0.01, 0.7)):
        spec = {"name": f"sweep-{lr}-{acc}", "command": "true", "hold": True, "params": {"lr": lr}, "env": {"A": "b"}}
        ids[acc] = str(admin.submit(spec)["id"])
        ok(admin.post(f"/jobs/{ids[acc]}/metrics", {"points": [point(1, acc, "acc")]}))
    found = ok(admin.get("/experiments", params={"text": "sweep-", "param": "lr=0.1", "having": "acc>0.85"}))
    assert [(one["id"], one["params"], one["metrics"]["acc"]["last"]) for one in found["items"]] == [
        (ids[0.9], {"lr": 0.1}, 0.9)
    ]
    named = ok(admin.get("/experiments", params={"job": [ids[0.7], ids[0.9]]}))
    assert [(one["id"], one["env"]) for one in named["items"]] == [(ids[0.7], {"A": "b"}), (ids[0.9], {"A": "b"})]
    best = ok(admin.get("/experiments/best", params={"metric": "acc", "by": "lr", "text": "sweep-"}))
    assert [(one["group"], one["runs"], one["value"], one["best"]["id"]) for one in best["items"]] == [
        (0.1, 2, 0.9, ids[0.9]),
        (0.01, 1, 0.7, ids[0.7]),
    ]
    assert "is not a condition" in problem(admin.get("/experiments", params={"param": "lr"}), 422, "invalid")["detail"]


def test_somebody_else_sees_neither_my_runs_nor_their_names(server: MusterServer, admin: Caller, job: str) -> None:
    other = new_user(admin, "other")
    assert ok(other.get("/experiments"))["items"] == []
    assert ok(other.get("/experiments", params={"owner": "root"}))["items"] == []
    assert other.get("/experiments", params={"job": job}).status_code == 403
