"""Simulations by a real server, in a process of their own."""

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import PASSWORD, People, new_user, unique
from tests.parts.server import polls


def test_jobs_that_still_run_are_replayed_too(people: People) -> None:
    job = people.owner.submit({"name": unique("runs"), "command": "sleep 600"})
    for _ in polls(60):
        if ok(people.owner.get(f"/jobs/{job['id']}"))["state"] == "Running":
            break
    made = ok(people.owner.post("/simulations", {"since": "1h", "onlyOwn": True}), 202)
    assert 1 <= made["running"] <= made["jobs"]
    assert ended(people.owner, made["id"])["error"] == ""
    ok(people.owner.send("DELETE", f"/simulations/{made['id']}"), 204)
    ok(people.owner.post(f"/jobs/{job['id']}/kill", {"grace": "0s"}), 202)


def ended(caller: Caller, simulation_id: str) -> dict[str, object]:
    for _ in polls(120):
        found: dict[str, object] = ok(caller.get(f"/simulations/{simulation_id}"))
        if found["state"] != "running":
            return found
    raise AssertionError("the simulation goes on")


def test_own_history_is_replayed_side_by_side(private_people: People) -> None:
    owner, other = private_people.owner, new_user(private_people.admin, "idle")
    for _ in range(2):
        job = owner.submit({"name": unique("past"), "command": "true", "resources": {"gpu": 1}})
        private_people.server.wait(job["id"])
    variants = [{"policy": "fifo"}, {"policy": "default", "moreGpus": {"A100": 8}, "title": "8 more"}]
    made = ok(owner.post("/simulations", {"since": "1h", "variants": variants}), 202)
    assert (made["state"], made["asked"]["cluster"], made["jobs"] >= 2) == ("running", "local", True)
    done = ended(owner, made["id"])
    assert done["error"] == ""
    result = done["result"]
    assert isinstance(result, dict)
    assert [run["title"] for run in result["runs"]] == ["as it was", "fifo", "8 more"]
    assert [run["summary"]["gpus"] for run in result["runs"]] == [2, 2, 10]
    lengths = {len(curve) for run in result["runs"] for curve in run["curves"].values()}
    assert lengths == {len(result["at"])}
    assert max(lengths) <= 300
    assert made["id"] in {one["id"] for one in ok(private_people.admin.get("/simulations"))["items"]}
    assert ok(other.get("/simulations"))["items"] == []
    problem(other.get(f"/simulations/{made['id']}"), 404, "not-found")
    refused = problem(other.post("/simulations", {}), 422, "invalid")
    assert refused["problems"][0]["path"] == "since", "jobs of others are not replayed where jobs are private"
    ok(owner.send("DELETE", f"/simulations/{made['id']}"), 204)
    problem(owner.get(f"/simulations/{made['id']}"), 404, "not-found")


def test_simulations_go_with_their_user(people: People) -> None:
    leaving = new_user(people.admin, "leaving")
    job = leaving.submit({"name": unique("past"), "command": "true"})
    people.server.wait(job["id"])
    made = ok(leaving.post("/simulations", {"since": "1h", "onlyOwn": True}), 202)
    ok(people.admin.send("DELETE", f"/users/{leaving.name}"), 204)
    assert made["id"] not in {one["id"] for one in ok(people.admin.get("/simulations"))["items"]}
    ok(people.admin.post("/users", {"name": leaving.name, "password": PASSWORD}), 201)
    token = ok(people.admin.post("/tokens", {"name": "tests", "user": leaving.name}), 201)
    coming = Caller(people.server, token["secret"], leaving.name)
    problem(coming.get(f"/simulations/{made['id']}"), 404, "not-found")


@pytest.mark.parametrize(
    "body",
    [
        {"variants": []},
        {"variants": [{}] * 5},
        {"variants": [{"policy": "best"}]},
        {"preemptionCost": "checkpoint:0m"},
        {"variants": [{"moreGpus": {"A100": 10**9}}]},
        {"nodes": "1000000x8"},
    ],
)
def test_what_makes_no_sense_is_refused(people: People, body: object) -> None:
    problem(people.owner.post("/simulations", body), 400, "bad-request")
    problem(people.owner.post("/simulations", {"since": "1d", "until": "2d"}), 422, "invalid")
    problem(people.owner.post("/simulations", {"cluster": "nowhere"}), 404, "not-found")
