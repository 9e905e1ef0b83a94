"""Changing, bumping and moving jobs over the API, and asking what would be if."""

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique

QUIET = {"command": "true", "hold": True}


@pytest.fixture
def held(people: People) -> str:
    job = people.owner.submit({"name": unique("held"), "resources": {"cpu": "100m"}, **QUIET})
    return str(job["id"])


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def test_a_held_job_is_changed_and_its_spec_is_another(me: Caller, held: str) -> None:
    before = ok(me.get(f"/jobs/{held}"))
    changed = ok(me.post(f"/jobs/{held}/change", {"set": {"resources.cpu": "200m", "timeLimit": "2h"}}))
    assert (changed["version"], changed["state"]) == (before["version"] + 1, "Held")
    spec = ok(me.get(f"/jobs/{held}/spec"))["spec"]
    assert (spec["roles"]["worker"]["resources"]["cpu"], spec["timeLimit"]) == ("200m", "2h")
    events = ok(me.get(f"/jobs/{held}/events"))["items"]
    assert events[-1]["kind"] == "job.held"


def test_a_wrong_change_is_told_with_its_path(me: Caller, held: str) -> None:
    answer = problem(me.post(f"/jobs/{held}/change", {"set": {"resources.cpu": "many"}}), 422, "invalid")
    assert [one["path"] for one in answer["problems"]] == ["roles.worker.resources.cpu"]
    problem(me.post(f"/jobs/{held}/change", {"set": {}}), 400, "bad-request")


def test_a_job_that_runs_is_a_conflict_that_says_what_to_do(me: Caller, people: People) -> None:
    job = me.submit({"name": unique("runs"), "command": "sleep 60", "resources": {"cpu": "10m"}})
    people.server.wait_for_state(job["id"], "Running")
    for verb, body in (("change", {"set": {"replicas": 2}}), ("bump", {}), ("move", {"to": "local"})):
        answer = problem(me.post(f"/jobs/{job['id']}/{verb}", body), 409, "conflict")
        assert "can be changed only while it waits" in answer["detail"]
        assert "muster hold" in answer["hint"]
    ok(me.post(f"/jobs/{job['id']}/kill", {"grace": 0}), 202)


def test_bump_makes_urgent_unless_another_priority_is_said(me: Caller, held: str) -> None:
    assert ok(me.post(f"/jobs/{held}/bump"))["priority"] == "urgent"
    assert ok(me.post(f"/jobs/{held}/bump", {"priority": "low"}))["priority"] == "low"
    problem(me.post(f"/jobs/{held}/bump", {"priority": "extreme"}), 400, "bad-request")


def test_a_job_cannot_be_moved_where_there_is_nothing(me: Caller, held: str) -> None:
    answer = problem(me.post(f"/jobs/{held}/move", {"to": "moon"}), 422, "invalid")
    assert "there is no cluster 'moon'" in answer["problems"][0]["message"]


def test_what_if_answers_and_changes_nothing(me: Caller, held: str) -> None:
    before = ok(me.get(f"/jobs/{held}"))
    told = ok(me.get(f"/jobs/{held}/explain", params={"what_if": ["cpu=50m", "priority=high"]}))
    assert told["whatIf"]["changes"] == {"cpu": "50m", "priority": "high"}
    assert ok(me.get(f"/jobs/{held}")) == before
    assert ok(me.get(f"/jobs/{held}/explain"))["whatIf"] is None
    problem(me.get(f"/jobs/{held}/explain", params={"what_if": "cpu"}), 422, "invalid")
    problem(me.get(f"/jobs/{held}/explain", params={"what_if": "vc=moon"}), 422, "invalid")


def test_a_job_waits_for_another_and_says_so(me: Caller, held: str) -> None:
    first = ok(me.get(f"/jobs/{held}"))["name"]
    job = me.submit({"name": unique("after"), "command": "true", "after": first})
    told = ok(me.get(f"/jobs/{job['id']}/explain"))
    assert [(one["code"], one["message"]) for one in told["reasons"]] == [("dependency", f"waits for {first} (Held)")]
    ok(me.post(f"/jobs/{held}/kill"), 202)
    ended = ok(me.get(f"/jobs/{job['id']}/wait"))
    assert ended["state"] == "Failed"
    assert ok(me.get(f"/jobs/{job['id']}/explain"))["fault"]["code"] == "dependency-failed"


def test_an_unknown_dependency_is_told_with_its_path(me: Caller) -> None:
    spec = {"name": unique("after"), "command": "true", "after": [{"job": "nobody"}]}
    answer = problem(me.post("/jobs", {"spec": spec}), 422, "invalid")
    assert [one["path"] for one in answer["problems"]] == ["after[0].job"]


@pytest.mark.parametrize(
    ("who", "announce"),
    [("owner", 'touch "$MUSTER_TASK_DIR/checkpoint"'), ("admin", "muster checkpoint-done")],
)
def test_a_checkpoint_announced_inside_a_task_is_known_to_the_job(people: People, who: str, announce: str) -> None:
    """The server's own `muster` may lie where only the account of the server can use it."""
    me: Caller = getattr(people, who)
    name = unique("saves")
    job = me.submit({"name": name, "command": f"{announce}; sleep 60", "resources": {"cpu": "10m"}})
    with me.stream(f"/jobs/{job['id']}/events?follow=true") as events:
        told = next(event for event in events if event.event == "job.checkpointed")
    shown = ok(me.get(f"/jobs/{job['id']}"))
    assert told.data["state"] in ("Starting", "Running")
    assert shown["checkpointAt"] >= shown["createdAt"]
    ok(me.post(f"/jobs/{job['id']}/kill", {"grace": 0}), 202)


LEARNS = {"params": {"lr": 0.1, "opt": "adam"}, "command": "echo lr=${params.lr}", "resources": {"cpu": "100m"}}


def test_a_param_is_changed_in_the_command_and_the_template_is_shown(me: Caller) -> None:
    job = me.submit({"name": unique("learns"), **LEARNS, "hold": True})
    ok(me.post(f"/jobs/{job['id']}/change", {"params": {"lr": 0.5}}))
    shown = ok(me.get(f"/jobs/{job['id']}/spec"))
    assert shown["spec"]["roles"]["worker"]["command"] == "echo lr=0.5"
    assert shown["template"]["command"] == "echo lr=${params.lr}"
    answer = problem(me.post(f"/jobs/{job['id']}/change", {"params": {"lrr": 1}}), 422, "invalid")
    assert [(one["path"], one["hint"]) for one in answer["problems"]] == [("params.lrr", "did you mean lr?")]


def test_the_whole_spec_of_a_held_job_is_replaced_and_problems_name_lines(me: Caller) -> None:
    name = unique("edited")
    job = me.submit({"name": name, **LEARNS, "hold": True})
    wrong = f"name: {name}\ncommand: echo\npriority: huge\ncluster: moon\n"
    answer = problem(me.post(f"/jobs/{job['id']}/change", {"source": wrong}), 422, "invalid")
    assert [(one["path"], one["line"]) for one in answer["problems"]] == [("priority", 3), ("cluster", 4)]
    ok(me.post(f"/jobs/{job['id']}/change", {"source": f"name: {name}\ncommand: echo new\n"}))
    assert ok(me.get(f"/jobs/{job['id']}/spec"))["spec"]["roles"]["worker"]["command"] == "echo new"


def test_a_retry_with_changes_is_one_job_however_often_it_is_asked_for(me: Caller, people: People) -> None:
    job = me.submit({"name": unique("again"), **LEARNS})
    people.server.wait(job["id"], 120)
    body = {"params": {"lr": 0.01}, "set": {"resources.cpu": "200m"}}
    key = {"Idempotency-Key": unique("key")}
    again = ok(me.post(f"/jobs/{job['id']}/retry", body, headers=key), 201)
    assert ok(me.post(f"/jobs/{job['id']}/retry", body, headers=key), 200)["id"] == again["id"]
    spec = ok(me.get(f"/jobs/{again['id']}/spec"))["spec"]
    assert (spec["roles"]["worker"]["command"], spec["params"]["opt"]) == ("echo lr=0.01", "adam")
    wrong = {"params": {"otp": "sgd"}, "set": {"resources.cpu": "many"}}
    answer = problem(me.post(f"/jobs/{job['id']}/retry", wrong), 422, "invalid")
    assert sorted(one["path"] for one in answer["problems"]) == ["params.otp", "roles.worker.resources.cpu"]
    renamed = {"source": "name: other\ncommand: 'true'\nhold: true\n"}
    assert ok(me.post(f"/jobs/{job['id']}/retry", renamed), 201)["name"] == "other"
