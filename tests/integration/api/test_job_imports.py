"""Jobs that ended elsewhere are recorded once, as what they were."""

from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique


@pytest.fixture
def admin(people: People) -> Caller:
    return people.admin


def ended(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "spec": {"name": name, "command": "python train.py", "resources": {"gpu": 2}, "labels": {"team": "vision"}},
        "state": "Succeeded",
        "createdAt": "2024-01-02T03:04:05Z",
        "endedAt": "2024-01-02T04:04:05Z",
        **changes,
    }


def test_an_ended_job_is_in_the_history_as_it_was(admin: Caller) -> None:
    names = [unique("old") for _ in range(3)]
    jobs = [
        ended(names[0], startedAt="2024-01-02T03:10:00Z"),
        ended(names[1], state="Failed", fault="platform", reason="its node was lost"),
        ended(names[2], state="Cancelled", reason="stopped there"),
    ]
    answer = ok(admin.post("/jobs:import", {"source": "elsewhere", "jobs": jobs}), 201)

    assert answer["imported"] == 3
    first, second, third = (ok(admin.get(f"/jobs/{name}")) for name in names)
    assert [one["id"] for one in answer["items"]] == [first["id"], second["id"], third["id"]]
    assert (first["state"], first["createdAt"][:19], first["endedAt"][:19]) == (
        "Succeeded",
        "2024-01-02T03:04:05",
        "2024-01-02T04:04:05",
    )
    assert first["startedAt"].startswith("2024-01-02T03:10:00")
    assert second["startedAt"] is None
    assert first["labels"] == {"team": "vision", "imported-from": "elsewhere", "imported-id": names[0]}
    assert (second["state"], second["reason"]) == ("Failed", "its node was lost")
    assert ok(admin.get(f"/jobs/{names[1]}/explain"))["fault"]["kind"] == "platform"
    assert third["state"] == "Cancelled"
    assert ok(admin.get(f"/jobs/{names[0]}/tasks"))["items"] == []
    problem(admin.post(f"/jobs/{names[0]}/kill", {}), 409, "conflict")


def test_importing_twice_records_once_and_adds_what_is_new(admin: Caller) -> None:
    one, two = ended(unique("old")), ended(unique("old"))
    ok(admin.post("/jobs:import", {"source": "elsewhere", "jobs": [one]}), 201)
    answer = ok(admin.post("/jobs:import", {"source": "elsewhere", "jobs": [one, two]}), 201)

    assert answer["imported"] == 1
    found = ok(admin.get("/jobs", params={"label": f"imported-id={one['id']}"}))["items"]
    assert len(found) == 1
    assert found[0]["id"] == answer["items"][0]["id"]


def test_all_or_none_with_the_problems_of_all(admin: Caller) -> None:
    good, wrong = ended(unique("old")), ended(unique("old"))
    wrong["spec"]["priority"] = "huge"
    told = problem(admin.post("/jobs:import", {"source": "elsewhere", "jobs": [good, wrong]}), 422, "invalid")
    assert [one["path"] for one in told["problems"]] == ["jobs.1.spec.priority"]
    problem(admin.get(f"/jobs/{good['id']}"), 404, "not-found")


@pytest.mark.parametrize(
    "times",
    [
        {"endedAt": "2023-01-01T00:00:00Z"},
        {"endedAt": "2999-01-01T00:00:00Z"},
        {"startedAt": "2024-01-02T05:00:00Z"},
    ],
)
def test_times_that_cannot_be_are_refused(admin: Caller, times: dict[str, str]) -> None:
    problem(admin.post("/jobs:import", {"source": "x", "jobs": [ended(unique("old"), **times)]}), 422, "invalid")


def test_an_imported_job_runs_again_as_any_other(admin: Caller) -> None:
    name = unique("old")
    job = ended(name)
    job["spec"] = {"name": name, "command": "true", "resources": {"cpu": "10m"}}
    ok(admin.post("/jobs:import", {"source": "elsewhere", "jobs": [job]}), 201)
    again = ok(admin.post(f"/jobs/{name}/retry", {}), 201)
    assert admin.server.wait(again["id"])["state"] == "Succeeded"
