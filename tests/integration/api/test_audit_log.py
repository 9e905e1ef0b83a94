"""The audit log as people read it."""

from typing import Any

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique


def acts(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    return list(ok(caller.get("/audit", params=query))["items"])


def test_users_see_their_own_acts_and_what_was_done_to_their_jobs(people: People) -> None:
    job = people.owner.submit({"name": unique("audited"), "command": "true", "hold": True})
    ok(people.admin.post(f"/jobs/{job['id']}/kill"), 202)
    for caller in (people.owner, people.admin):
        kinds = [act["kind"] for act in acts(caller, kind="job.") if act["jobId"] == job["id"]]
        assert kinds == ["audit.job.kill", "audit.job.submit"]
    assert job["id"] not in {act["jobId"] for act in acts(people.other)}
    assert {act["actor"] for act in acts(people.owner, actor="me")} == {people.owner.name}


def test_pages_and_bad_cursors(people: People) -> None:
    for number in range(3):
        ok(people.owner.post("/tokens", {"name": f"t{number}"}), 201)
    first = ok(people.owner.get("/audit", params={"kind": "token.create", "limit": 2}))
    rest = ok(people.owner.get("/audit", params={"kind": "token.create", "before": first["nextCursor"], "since": "1h"}))
    numbers = [act["seq"] for act in (*first["items"], *rest["items"])]
    assert (len(first["items"]), numbers) == (2, sorted(numbers, reverse=True))
    problem(people.owner.get("/audit", params={"before": "x"}), 422, "invalid")
    problem(people.owner.get("/audit", params={"since": "soon"}), 422, "invalid")
