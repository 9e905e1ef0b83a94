"""Secrets that came in the file of a job: who gets them, and what becomes of them when the job is changed or copied."""

from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique

ROLE = "{instances: 1, resourcePerInstance: {cpu: 0.1, memoryMB: 10, gpu: 0}, commands: ['true <% $secrets.token %>']}"


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def source(name: str, value: str = "hunter2", more: str = "") -> dict[str, Any]:
    text = f"protocolVersion: 2\nname: {name}\ntype: job\nsecrets: {{token: {value}}}\ntaskRoles: {{w: {ROLE}}}\n{more}"
    return {"source": text, "set": {"hold": True}}


def names(me: Caller, job: str) -> list[str]:
    return [use["name"] for use in ok(me.get(f"/jobs/{job}/spec"))["spec"]["secrets"]]


def test_jobs_of_one_request_have_secrets_of_their_own(me: Caller) -> None:
    jobs = [source(unique("pai")) for _ in range(2)]
    planned = me.post("/jobs:bulk", {"jobs": jobs}, params={"dryRun": True})
    made = me.post("/jobs:bulk", {"jobs": jobs})

    assert len(ok(planned, 200)["items"]) == 2
    for job in ok(made, 201)["items"]:
        assert names(me, job["id"]) == [f"{job['id']}.openpai.1-token"]
    assert "hunter2" not in planned.text + made.text


def test_other_problems_are_told_without_looking_for_the_secrets_of_the_file(me: Caller) -> None:
    answer = problem(me.post("/jobs", source(unique("pai"), more="tpye: x\n")), 422, "invalid")

    assert [one["path"] for one in answer["problems"]] == ["tpye"]


def test_whole_new_file_brings_new_secrets(me: Caller) -> None:
    name = unique("pai")
    job = ok(me.post("/jobs", source(name)), 201)["id"]

    ok(me.post(f"/jobs/{job}/change", source(name, "other")))

    assert names(me, job) == [f"{job}.openpai.1-token"]


def test_spec_with_secrets_of_a_job_is_of_use_to_its_owner_only(people: People) -> None:
    me, other = people.owner, people.other
    job = ok(me.post("/jobs", source(unique("pai"))), 201)["id"]
    spec = ok(me.get(f"/jobs/{job}/spec"))["spec"] | {"name": unique("copy")}

    refused = problem(other.post("/jobs", {"spec": spec}), 422, "invalid")
    copy = ok(me.post("/jobs", {"spec": spec}), 201)["id"]

    assert [one["path"] for one in refused["problems"]] == ["secrets[0].name"]
    assert names(me, copy) == [f"{copy}.openpai.1-token"]


def test_name_of_a_secret_of_a_job_cannot_be_chosen(me: Caller) -> None:
    job = ok(me.post("/jobs", source(unique("pai"))), 201)["id"]

    refused = me.send("PUT", f"/secrets/{names(me, job)[0]}", content=b"mine")
    plain = me.send("PUT", "/secrets/productionserver.key", content=b"mine")

    assert (refused.status_code, plain.status_code) == (422, 201)


def test_secrets_of_jobs_do_not_count_and_are_not_listed(people: People) -> None:
    before = ok(people.owner.get("/secrets"))["items"]
    ok(people.owner.post("/jobs", source(unique("pai"))), 201)

    assert ok(people.owner.get("/secrets"))["items"] == before
    assert "openpai" not in people.admin.get("/secrets").text
