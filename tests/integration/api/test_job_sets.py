"""Jobs that are submitted together: all or none, with the problems of all of them, and waiting for each other."""

from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique

QUIET = "command: 'true'\nhold: true\nresources: {cpu: 10m}\n"


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def text(name: str, more: str = "") -> dict[str, Any]:
    return {"source": f"name: {name}\n{QUIET}{more}"}


def test_jobs_of_all_kinds_that_wait_for_each_other_are_made_once(me: Caller) -> None:
    train, prep, pai = unique("train"), unique("prep"), unique("pai")
    role = "{commands: ['true'], instances: 1, resourcePerInstance: {cpu: 1, memoryMB: 10, gpu: 0}}"
    openpai = f"protocolVersion: 2\nname: {pai}\ntype: job\ntaskRoles: {{w: {role}}}\n"
    jobs = [text(train, f"after: [{prep}, {pai}]\n"), {**text(prep), "set": {"priority": "low"}}, {"source": openpai}]
    key = {"Idempotency-Key": unique("key")}
    planned = ok(me.post("/jobs:bulk", {"jobs": jobs}, params={"dryRun": True}), 200)["items"]
    assert [job["name"] for job in planned] == [train, prep, pai]
    problem(me.get(f"/jobs/{prep}"), 404, "not-found")
    made = ok(me.post("/jobs:bulk", {"jobs": jobs}, headers=key), 201)["items"]
    again = ok(me.post("/jobs:bulk", {"jobs": jobs}, headers=key), 200)["items"]
    assert [job["id"] for job in again] == [job["id"] for job in made]
    assert (made[1]["priority"], made[2]["name"]) == ("low", pai)
    spec = ok(me.get(f"/jobs/{train}/spec"))["spec"]
    assert [one["job"] for one in spec["after"]] == [made[1]["id"], made[2]["id"]]


def test_everything_that_is_wrong_is_told_with_its_line_and_nothing_is_made(me: Caller) -> None:
    names = [unique("wrong") for _ in range(4)]
    jobs = [
        text(names[0], "priority: huge\ncluster: moon\n"),
        text(names[1], f"after: [{names[0]}, nobody-{names[0]}]\n"),
        text(names[2], "cluster: moon\n"),
        text(names[3]),
    ]
    told = problem(me.post("/jobs:bulk", {"jobs": jobs}), 422, "invalid")
    assert [(one["path"], one["line"]) for one in told["problems"]] == [
        ("jobs.0.priority", 5),
        ("jobs.0.cluster", 6),
        ("jobs.1.after[1].job", 5),
        ("jobs.2.cluster", 5),
    ]
    assert told["detail"] == "3 of 4 jobs are wrong, and none was submitted"
    problem(me.get(f"/jobs/{names[3]}"), 404, "not-found")


@pytest.mark.parametrize("dry_run", [True, False])
def test_repeated_names_and_misspelt_dependencies_are_told_with_all_other_problems(me: Caller, dry_run: bool) -> None:
    fetch, wrong = unique("fetch"), unique("wrong")
    jobs = [
        text(fetch),
        text(fetch, f"after: [{wrong}, {fetch}h]\n"),
        text(wrong, f"after: {fetch}h\npriority: huge\n"),
        text(wrong),
    ]
    told = problem(me.post("/jobs:bulk", {"jobs": jobs}, params={"dryRun": dry_run}), 422, "invalid")["problems"]
    assert [(one["path"], one["line"]) for one in told] == [
        ("jobs.1.name", 1),
        ("jobs.1.after[1].job", 5),
        ("jobs.2.after[0].job", 5),
        ("jobs.2.priority", 6),
        ("jobs.3.name", 1),
    ]
    assert told[0]["message"] == f"{fetch!r} is also in jobs.0"
    assert told[1]["hint"] == told[2]["hint"] == f"did you mean {fetch}?"


def test_a_dependency_that_nobody_has_is_told_with_the_other_problems_of_one_job(me: Caller) -> None:
    real, job = unique("prepare"), unique("job")
    ok(me.post("/jobs", text(real)), 201)
    told = problem(me.post("/jobs", text(job, f"after: [{real}x]\npriority: huge\n")), 422, "invalid")["problems"]
    assert [one["path"] for one in told] == ["after[0].job", "priority"]
    assert told[0]["hint"] == f"did you mean {real}?"


def test_a_circle_is_refused(me: Caller) -> None:
    one, two = unique("one"), unique("two")
    told = problem(
        me.post("/jobs:bulk", {"jobs": [text(one, f"after: {two}"), text(two, f"after: {one}")]}), 422, "invalid"
    )
    assert "would wait for each other forever" in told["problems"][0]["message"]
    assert told["problems"][0]["line"] == 5


@pytest.mark.parametrize("body", [{}, {"jobs": [{}], "specs": [{}]}])
def test_one_kind_of_list_is_needed(me: Caller, body: dict[str, Any]) -> None:
    problem(me.post("/jobs:bulk", body), 422, "invalid")


def test_a_sweep_that_is_taken_for_a_job_is_named_as_a_sweep(people: People) -> None:
    name = unique("taken")
    spec = {"name": name, "command": "true", "sweep": {"grid": {"lr": [1, 2]}}}
    ok(people.owner.post("/sweeps", {"spec": spec}), 201)
    refused = problem(people.owner.get(f"/jobs/{name}"), 404, "not-found")
    assert refused["detail"] == f"{name} is a sweep, and no job"
    assert f"muster sweep describe {name}" in refused["hint"]
