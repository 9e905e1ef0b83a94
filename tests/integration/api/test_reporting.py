"""Reports, the queue and usage: whose jobs are in them, and what is refused."""

import pytest

from tests.integration.api.calling import ok, problem
from tests.integration.api.people import People, unique


@pytest.fixture(scope="module")
def job(people: People) -> str:
    """A job of the owner that failed by its own fault."""
    using = "python3 -c 'held = bytearray(64 << 20); raise SystemExit(3)'"
    submitted = people.owner.submit({"name": unique("reported"), "command": using})
    people.server.wait(submitted["id"])
    return str(submitted["id"])


def test_users_get_a_report_of_their_own_jobs_and_admins_of_all(people: People, job: str) -> None:
    mine, theirs, all_jobs = (ok(one.get("/report?since=1h")) for one in (people.owner, people.other, people.admin))
    assert [line["group"] for line in mine["items"]] == [people.owner.name]
    assert mine["total"]["failures"]["user"] >= 1
    assert people.owner.name not in [line["group"] for line in theirs["items"]]
    assert (mine["onlyOwn"], theirs["onlyOwn"], all_jobs["onlyOwn"]) == (True, True, False)
    assert people.owner.name in [line["group"] for line in all_jobs["items"]]


@pytest.mark.parametrize("query", ["since=tomorrow", "since=1h&until=2h", "since=800d"])
def test_a_window_that_makes_no_sense_is_refused(people: People, query: str) -> None:
    problem(people.owner.get(f"/report?{query}"), 422, "invalid")


@pytest.mark.parametrize("query", ["by=team", "idleBelow=101"])
def test_a_report_of_something_else_is_refused(people: People, query: str) -> None:
    problem(people.owner.get(f"/report?{query}"), 400, "bad-request")


def test_the_use_of_a_failed_job_is_known(people: People, job: str) -> None:
    usage = ok(people.other.get(f"/jobs/{job}/usage"))
    (attempt,) = usage["attempts"]
    (task,) = attempt["tasks"]
    assert (usage["state"], task["state"], usage["used"]["sampled"]) == ("Failed", "Failed", False)
    assert usage["used"]["peakMemoryBytes"] > 64 << 20
    assert usage["advice"] == ""
    assert ok(people.other.get(f"/jobs/{job}"))["peakMemoryBytes"] == usage["used"]["peakMemoryBytes"]


def test_the_queue_can_be_narrowed_to_ones_own_jobs(people: People) -> None:
    held = people.owner.submit({"name": unique("held"), "command": "true", "hold": True})
    assert held["id"] in [one["id"] for one in ok(people.other.get("/queue"))["items"]]
    assert held["id"] in [one["id"] for one in ok(people.owner.get("/queue?owner=me"))["items"]]
    assert held["id"] not in [one["id"] for one in ok(people.other.get("/queue?owner=me"))["items"]]
    people.owner.post(f"/jobs/{held['id']}/kill", {})
