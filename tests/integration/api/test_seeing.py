"""What others see of a job: that it is there and how it stands, never what it prints or was given."""

import hashlib

import pytest

from tests.integration.api.calling import ok, problem
from tests.integration.api.people import People, unique

SECRET = "swordfish_in_the_log"


@pytest.fixture(scope="module")
def failed_job(people: People) -> str:
    """Its fault quotes its log: a missing module is named."""
    command = f"echo \"ModuleNotFoundError: No module named '{SECRET}'\" >&2; exit 1"
    spec = {"name": unique("quoting"), "command": command, "env": {"PASSPHRASE": SECRET}, "description": SECRET}
    job = people.owner.submit(spec)
    people.server.wait(job["id"])
    return str(job["id"])


def test_the_owner_is_told_what_the_log_said(people: People, failed_job: str) -> None:
    assert SECRET in people.owner.get(f"/jobs/{failed_job}").json()["reason"]
    told = ok(people.owner.get(f"/jobs/{failed_job}/explain"))
    assert SECRET in told["fault"]["cause"]
    assert any(SECRET in line for line in told["evidence"])


def test_others_see_name_state_and_resources_but_nothing_that_quotes(people: People, failed_job: str) -> None:
    job = ok(people.other.get(f"/jobs/{failed_job}"))
    assert (job["state"], job["owner"], job["reason"]) == ("Failed", people.owner.name, "")
    assert set(job["resources"]) == {"cpu", "memory", "gpu", "gpuType", "devices"}
    for path in ("", "/tasks", "/events", "/wait"):
        assert SECRET not in people.other.get(f"/jobs/{failed_job}{path}").text
    for path in ("/jobs?limit=1000", "/events?limit=1000&kind=job.", "/events?limit=1000&kind=task.", "/usage"):
        assert SECRET not in people.other.get(path).text


def test_a_misspelt_name_is_answered_with_the_nearest_that_the_caller_may_see(people: People, failed_job: str) -> None:
    name = people.owner.get(f"/jobs/{failed_job}").json()["name"]
    for caller in (people.owner, people.other):
        refused = problem(caller.get(f"/jobs/{name}x/explain"), 404, "not-found")
        assert refused["hint"] == f"did you mean {name}?"
    assert "muster get jobs" in problem(people.owner.get("/jobs/zzzzzzzz"), 404, "not-found")["hint"]


def test_others_see_no_audit_events_of_a_job(people: People, failed_job: str) -> None:
    kinds = {event["kind"] for event in ok(people.other.get(f"/jobs/{failed_job}/events"))["items"]}
    assert "job.failed" in kinds
    assert not [kind for kind in kinds if kind.startswith("audit.")]
    mine = {event["kind"] for event in ok(people.owner.get(f"/jobs/{failed_job}/events"))["items"]}
    assert "audit.job.submit" in mine


def test_the_stream_of_events_hides_the_same_as_the_list(people: People, failed_job: str) -> None:
    with people.other.stream(f"/jobs/{failed_job}/events?follow=true", after="0") as events:
        seen = [next(events)]
        while seen[-1].event != "job.failed":
            seen.append(next(events))
    assert SECRET not in str(seen)
    assert not [one for one in seen if one.event.startswith("audit.")]


def test_a_dry_run_with_anothers_package_is_refused(people: People) -> None:
    data = unique("package").encode()
    digest = hashlib.sha256(data).hexdigest()
    ok(people.owner.send("PUT", f"/packages/{digest}", params={"size": len(data)}, content=data))
    spec = {"name": unique("thief"), "command": "cat *", "package": digest}
    for query in ({}, {"dryRun": True}):
        told = problem(people.other.post("/jobs", {"spec": spec}, params=query), 422, "invalid")
        assert told["problems"][0]["path"] == "package"
    problem(people.other.get(f"/packages/{digest}"), 404, "not-found")
    problem(people.other.get(f"/packages/{digest}/content"), 404, "not-found")
