"""Templates over the API: versions, who sees them, and what is refused."""

from typing import Any

import pytest

from muster.templates.catalogue import DESCRIPTIONS
from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, new_user, unique

JOB = "name: finetune\nparams:\n  lr: 0.1  # the learning rate\ncommand: echo ${params.lr}\n"


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def publish(who: Caller, name: str, status: int = 201, job: str = JOB, **more: Any) -> Any:
    answer = who.send("PUT", f"/templates/{name}", json={"files": {"job.yaml": job, "a/b.py": "pass\n"}, **more})
    return ok(answer, status) if status < 400 else answer


def member(people: People, group: str) -> Caller:
    user = new_user(people.admin, "member")
    ok(people.admin.send("PATCH", f"/users/{user.name}", json={"groups": [group]}))
    return user


def test_versions_are_numbered_and_kept(me: Caller) -> None:
    name = unique("template")
    first = publish(me, name, description="one")
    assert (first["version"], first["author"], first["everyone"]) == (1, me.name, False)
    assert publish(me, name, 200, description="one")["version"] == 1, "the same again changes nothing"
    second = publish(me, name, description="two", job=JOB.replace("0.1", "0.2"))
    assert second["version"] == 2
    assert "0.2" in ok(me.get(f"/templates/{name}"))["files"]["job.yaml"]
    old = ok(me.get(f"/templates/{name}", params={"version": 1}))
    assert old["files"] == {"job.yaml": JOB, "a/b.py": "pass\n"}
    problem(me.get(f"/templates/{name}", params={"version": 3}), 404, "not-found")
    listed = [one for one in ok(me.get("/templates"))["items"] if one["name"] == name]
    assert listed == [second]


def test_members_of_the_group_use_it_and_for_others_it_is_not_there(people: People) -> None:
    group, name = unique("group"), unique("template")
    author, colleague = member(people, group), member(people, group)
    publish(author, name, group=group)
    assert ok(colleague.get(f"/templates/{name}"))["group"] == group
    assert problem(people.other.get(f"/templates/{name}"), 404, "not-found") == problem(
        people.other.get(f"/templates/{name}"), 404, "not-found"
    )
    assert name not in [one["name"] for one in ok(people.other.get("/templates"))["items"]]
    problem(publish(colleague, name, 403), 403, "forbidden")
    problem(publish(people.other, name, 409), 409, "conflict")
    problem(colleague.send("DELETE", f"/templates/{name}"), 403, "forbidden")
    problem(people.other.send("DELETE", f"/templates/{name}"), 404, "not-found")
    by_admin = publish(people.admin, name, everyone=True)
    assert (by_admin["version"], by_admin["author"]) == (2, author.name)
    ok(people.other.get(f"/templates/{name}", params={"version": 1}))
    ok(author.send("DELETE", f"/templates/{name}"), 204)
    problem(people.admin.get(f"/templates/{name}"), 404, "not-found")


def test_what_is_wrong_is_told_at_once(me: Caller) -> None:
    secret = JOB + "env: {API_TOKEN: abcdef}\n"
    told = problem(publish(me, unique("bad"), 422, secret, group="no-such-group"), 422, "invalid")
    assert [one["path"] for one in told["problems"]] == ["env.API_TOKEN", "group"]
    assert "abcdef" not in str(told)
    told = problem(publish(me, unique("bad"), 422, "name: a\npriority: huge\n"), 422, "invalid")
    assert ("priority", 2) in [(one["path"], one["line"]) for one in told["problems"]]
    problem(me.send("PUT", f"/templates/{unique('bad')}", json={"files": {"x": ""}}), 422, "invalid")
    problem(me.send("PUT", f"/templates/{unique('bad')}", json={"files": {}}), 400, "bad-request")


def test_built_in_templates_are_listed_when_asked_for_and_have_their_files(people: People) -> None:
    shared = ok(people.owner.get("/templates"))["items"]
    assert not any(template["builtIn"] for template in shared)
    listed = [one for one in ok(people.owner.get("/templates", params={"builtIn": True}))["items"] if one["builtIn"]]
    assert {one["name"] for one in listed} == set(DESCRIPTIONS)
    assert all(one["sizeBytes"] and one["description"] and one["everyone"] for one in listed)
    found = ok(people.owner.get("/templates/torch-ddp", params={"builtIn": True}))
    assert {"job.yaml", "src/train.py"} <= set(found["files"])
    refused = problem(people.owner.get("/templates/torch-dpp", params={"builtIn": True}), 404, "not-found")
    assert refused["hint"] == "did you mean torch-ddp?"
