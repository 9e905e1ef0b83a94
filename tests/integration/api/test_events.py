"""The stream of events: everything once and in order, also across a crash of the server."""

import threading
from collections.abc import Iterator

import pytest

from tests.integration.api.calling import Caller, Sse, ok, problem
from tests.integration.api.people import People, unique
from tests.parts.server import MusterServer

QUIET = {"command": "true", "hold": True}


def test_a_reader_that_comes_back_after_a_crash_has_no_gap_and_no_repeat(own_server: MusterServer) -> None:
    admin = Caller(own_server, own_server.token)
    everything: list[Sse] = []
    with admin.stream("/events?follow=true", after="0") as events:
        first = admin.submit({"name": "before", **QUIET})["id"]
        while not everything or everything[-1].data["jobId"] != first or everything[-1].event != "job.held":
            everything.append(next(events))
        ok(admin.post(f"/jobs/{first}/kill"), 202)
        own_server.kill()
    own_server.start()
    last = admin.submit({"name": "after", **QUIET})["id"]
    with admin.stream("/events?follow=true", after=everything[-1].id) as events:
        while everything[-1].data["jobId"] != last or everything[-1].event != "job.held":
            everything.append(next(events))
    listed = ok(admin.get("/events", params={"limit": 1000}))["items"]
    assert [one.data["seq"] for one in everything] == [one["seq"] for one in listed][: len(everything)]
    assert [one.id for one in everything] == [str(one.data["seq"]) for one in everything]
    assert ("job.cancelled", first) in [(one.event, one.data["jobId"]) for one in everything]


def test_a_new_follower_hears_only_what_happens_from_now_on(people: People) -> None:
    people.owner.submit({"name": unique("old"), **QUIET})
    with people.owner.stream("/events?follow=true&kind=job.") as events:
        heard: list[Sse] = []
        reader = threading.Thread(target=lambda: heard.append(next(events)))
        reader.start()
        new = people.owner.submit({"name": unique("new"), **QUIET})
        reader.join(30)
    assert [one.data["jobId"] for one in heard] == [new["id"]]


def test_followers_of_one_job_hear_of_that_job_alone(people: People) -> None:
    mine = people.owner.submit({"name": unique("followed"), **QUIET})["id"]
    with people.owner.stream(f"/jobs/{mine}/events?follow=true") as events:
        people.owner.submit({"name": unique("another"), **QUIET})
        ok(people.owner.post(f"/jobs/{mine}/kill"), 202)
        heard = [next(events)]
        while heard[-1].event != "job.cancelled":
            heard.append(next(events))
    assert {one.data["jobId"] for one in heard} == {mine}


def test_many_followers_hear_the_same_in_the_same_order(people: People) -> None:
    path, start = "/events?follow=true&kind=job.", _last(people)
    with people.owner.stream(path, after=start) as one, people.owner.stream(path, after=start) as two:
        jobs = [people.owner.submit({"name": unique("many"), **QUIET})["id"] for _ in range(20)]
        for heard in (one, two):
            assert [event.data["jobId"] for event in _mine(heard, jobs)] == jobs


def test_pages_of_events_go_on_from_the_cursor(people: People) -> None:
    job = people.owner.submit({"name": unique("paged"), **QUIET})["id"]
    ok(people.owner.post(f"/jobs/{job}/resume"))
    people.server.wait(job)
    whole = ok(people.owner.get(f"/jobs/{job}/events"))["items"]
    pages: list[object] = []
    after: str | None = "0"
    while after is not None:
        page = ok(people.owner.get(f"/jobs/{job}/events", params={"after": after, "limit": 2}))
        pages += page["items"]
        after = page["nextCursor"]
    assert pages == whole
    assert [one["kind"] for one in whole if one["kind"].startswith("job.")][-1] == "job.succeeded"


@pytest.mark.parametrize("header", ["x", "-1", "1.5", "9" * 30, "²"])
def test_a_resume_point_that_no_event_had_is_refused(people: People, header: str) -> None:
    answer = people.owner.get("/events?follow=true", headers={"Last-Event-ID": header.encode()})
    problem(answer, 422, "invalid")


def _last(people: People) -> str:
    job = people.owner.submit({"name": unique("mark"), **QUIET})["id"]
    return str(ok(people.owner.get(f"/jobs/{job}/events"))["items"][-1]["seq"])


def _mine(events: Iterator[Sse], jobs: list[str]) -> list[Sse]:
    found: list[Sse] = []
    for event in events:
        if event.data["jobId"] in jobs:
            found.append(event)
        if len(found) == len(jobs):
            break
    return found
