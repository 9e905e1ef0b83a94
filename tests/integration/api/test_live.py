"""Live streams: what changes on a page, told to those who may see it, without a gap."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.api.calling import Caller, Sse, ok, problem
from tests.integration.api.people import People, new_user, unique
from tests.parts.server import MusterServer

QUIET = {"command": "true", "hold": True}
SECRET = "swordfish_in_the_log"
QUOTING = {"command": f"echo \"ModuleNotFoundError: No module named '{SECRET}'\" >&2; exit 1"}


def until(events: Iterator[Sse], event: str, **wanted: Any) -> Any:
    """The data of the first event of this name that has these values."""
    for one in events:
        if one.event == event and all(one.data.get(key) == value for key, value in wanted.items()):
            return one.data
    raise AssertionError(f"the stream ended before {event} {wanted}")


def listed(events: Iterator[Sse], job_id: str, *states: str) -> Any:
    """The job as a list shows it, as soon as it is in one of the states."""
    for one in events:
        for job in one.data.get("jobs", ()) if one.event == "jobs" else ():
            if job["id"] == job_id and job["state"] in states:
                return job
    raise AssertionError(f"the stream ended before {job_id} was {states}")


def page_until(events: Iterator[Sse], job_id: str, state: str) -> list[Any]:
    """What a page of the job is told until the job is in this state."""
    told: list[Any] = []
    while not told or told[-1]["job"]["state"] != state:
        told.append(until(events, "job", id=job_id))
    return told


def test_a_list_is_told_each_job_as_the_api_answers_it(people: People) -> None:
    with people.owner.stream("/live?topics=jobs") as events:
        assert until(events, "ready")["seq"] >= 0
        job = people.owner.submit({"name": unique("listed"), "command": "true"})["id"]
        seen = listed(events, job, "Succeeded")
    assert seen == ok(people.owner.get(f"/jobs/{job}"))


def test_a_job_page_is_told_of_its_job_alone_with_tasks_and_events(people: People) -> None:
    job = people.owner.submit({"name": unique("paged"), **QUIET})["id"]
    with people.owner.stream(f"/live?topics=job:{job}") as events:
        until(events, "ready")
        people.owner.submit({"name": unique("another"), "command": "true"})
        ok(people.owner.post(f"/jobs/{job}/resume"))
        told = page_until(events, job, "Succeeded")
    kinds = [event["kind"] for one in told for event in one["events"]]
    assert {event["jobId"] for one in told for event in one["events"]} == {job}
    assert "task.running" in kinds
    assert "job.succeeded" in kinds
    tasks = {task["id"]: task for one in told for task in one["tasks"]}
    assert list(tasks.values()) == ok(people.owner.get(f"/jobs/{job}/tasks"))["items"]


def test_others_are_told_the_outline_and_the_owner_and_admins_the_reason(people: People) -> None:
    path = "/live?topics=jobs"
    with people.owner.stream(path) as mine, people.other.stream(path) as others, people.admin.stream(path) as admins:
        for events in (mine, others, admins):
            until(events, "ready")
        job = people.owner.submit({"name": unique("quoting"), **QUOTING})["id"]
        assert SECRET in listed(mine, job, "Failed")["reason"]
        assert SECRET in listed(admins, job, "Failed")["reason"]
        assert listed(others, job, "Failed")["reason"] == ""


def test_the_page_of_anothers_job_has_neither_reasons_nor_audit_events(people: People) -> None:
    job = people.owner.submit({"name": unique("quoting"), **QUOTING, "hold": True})["id"]
    with people.other.stream(f"/live?topics=job:{job}") as events:
        until(events, "ready")
        ok(people.owner.post(f"/jobs/{job}/resume"))
        told = page_until(events, job, "Failed")
    assert SECRET not in str(told)
    assert not [event for one in told for event in one["events"] if event["kind"].startswith("audit.")]


def test_private_jobs_are_told_to_their_owner_and_admins_only(private_people: People) -> None:
    people, path = private_people, "/live?topics=jobs,nodes"
    with people.owner.stream(path) as mine, people.other.stream(path) as others, people.admin.stream(path) as admins:
        for events in (mine, others, admins):
            until(events, "ready")
        hidden = people.owner.submit({"name": unique("hidden"), **QUIET})["id"]
        listed(mine, hidden, "Held")
        listed(admins, hidden, "Held")
        theirs = people.other.submit({"name": unique("theirs"), **QUIET})["id"]
        heard: list[Sse] = []
        while theirs not in str(heard):
            heard.append(next(others))
    assert hidden not in str(heard)
    problem(people.other.get(f"/live?topics=job:{hidden}"), 404, "not-found")


def test_a_deleted_job_is_gone_from_lists_and_pages(people: People) -> None:
    job = people.owner.submit({"name": unique("deleted"), "command": "true"})["id"]
    people.server.wait(job)
    with people.other.stream(f"/live?topics=jobs,job:{job}") as events:
        until(events, "ready")
        people.owner.send("DELETE", f"/jobs/{job}")
        assert job in until(events, "jobs", jobs=[])["gone"]
        assert until(events, "job", id=job)["job"] is None


def test_other_topics_are_told_that_they_are_worth_asking_for_again(people: People) -> None:
    with people.owner.stream("/live?topics=queue,virtual-clusters,templates") as events:
        until(events, "ready")
        people.owner.submit({"name": unique("queued"), **QUIET})
        assert {"queue", "virtual-clusters"} >= set(until(events, "changed")["topics"])


def test_nodes_are_told_with_their_allocation_as_the_api_answers_them(people: People) -> None:
    with people.owner.stream("/live?topics=nodes") as events:
        until(events, "ready")
        job = people.owner.submit({"name": unique("busy"), "command": "sleep 60"})["id"]
        people.server.wait_for_state(job, "Running")
        busy: list[Any] = []
        while not busy:
            busy = [node for node in until(events, "nodes")["nodes"] if node["tasks"]]
        ok(people.owner.post(f"/jobs/{job}/kill"), 202)
    nodes = {node["name"]: node for node in ok(people.owner.get("/nodes"))["items"]}
    assert busy[0].keys() == nodes[busy[0]["name"]].keys()
    assert busy[0]["login"] is None


def test_a_reader_that_comes_back_has_no_gap_and_no_repeat(people: People) -> None:
    job = people.owner.submit({"name": unique("resumed"), **QUIET})["id"]
    path = f"/live?topics=jobs,job:{job}"
    seen: list[int] = []
    last = "0"
    with people.owner.stream(path) as events:
        last = next(events).id
        assert last
    ok(people.owner.post(f"/jobs/{job}/resume"))
    people.server.wait(job)
    with people.owner.stream(path, after=last) as events:
        assert next(events).id == ""
        for one in events:
            last = one.id or last
            seen += [event["seq"] for event in one.data["events"]] if one.event == "job" else []
            if one.event == "job" and one.data["job"]["state"] == "Succeeded":
                break
    with people.owner.stream(path, after=last) as events:
        people.owner.send("DELETE", f"/jobs/{job}")
        seen += [event["seq"] for event in until(events, "job", id=job)["events"]]
    assert seen == sorted(set(seen))


def test_a_reader_that_comes_back_after_a_crash_is_told_what_it_missed(own_server: MusterServer) -> None:
    admin = Caller(own_server, own_server.token)
    job = admin.submit({"name": "before", **QUIET})["id"]
    path = f"/live?topics=jobs,nodes,queue,job:{job}"
    with admin.stream(path) as events:
        last = next(events).id
        ok(admin.post(f"/jobs/{job}/kill"), 202)
        own_server.kill()
    own_server.start()
    other = admin.submit({"name": "after", **QUIET})["id"]
    with admin.stream(path, after=last) as events:
        jobs = {one["id"]: one["state"] for one in until(events, "jobs")["jobs"]}
        assert jobs == {job: "Cancelled", other: "Held"}
        page = until(events, "job", id=job)
        assert page["job"]["state"] == "Cancelled"
        assert "job.cancelled" in [event["kind"] for event in page["events"]]
        assert until(events, "changed")["topics"] == ["nodes", "queue"]


def test_a_gap_that_is_too_large_is_answered_by_resync(people: People) -> None:
    future = 2**61
    with people.owner.stream("/live?topics=jobs", after=str(future)[:18]) as events:
        until(events, "resync")
        job = people.owner.submit({"name": unique("after"), **QUIET})["id"]
        listed(events, job, "Held")


@pytest.mark.parametrize(
    "topics", ["", ",", "nothing", "jobs,nothing", "job:", "logs:", "logs:a:", ",".join(f"job:{n}" for n in range(65))]
)
def test_topics_that_do_not_exist_or_are_too_many_are_refused(people: People, topics: str) -> None:
    problem(people.owner.get("/live", params={"topics": topics}), 422, "invalid")
    problem(people.owner.get("/live", params={"topics": "j" * 5000}), 400, "bad-request")


def test_a_stream_after_the_number_of_an_answer_tells_what_changed_since(people: People) -> None:
    job = ok(people.owner.post("/jobs", {"spec": {**QUIET, "name": unique("numbered")}}), 201)
    answer = people.owner.get(f"/jobs/{job['id']}")
    ok(people.owner.post(f"/jobs/{job['id']}/kill"), 202)
    after = answer.headers["Muster-Last-Event"]
    with people.owner.stream(f"/live?topics=job:{job['id']}&after={after}") as events:
        assert page_until(events, job["id"], "Cancelled")


def test_a_stream_ends_when_its_token_is_revoked_or_its_user_gets_other_rights(people: People) -> None:
    user = new_user(people.admin, unique("leaver"), password=None)
    made = ok(user.post("/tokens", {"name": "streaming"}), 201)
    streaming = Caller(people.server, made["secret"], user.name)
    with streaming.stream("/live?topics=jobs") as events:
        until(events, "ready")
        user.send("DELETE", f"/tokens/{made['id']}")
        assert not [one for one in events if one.event not in ("jobs", "changed")]
    with user.stream("/live?topics=jobs") as events:
        until(events, "ready")
        ok(people.admin.send("PATCH", f"/users/{user.name}", json={"role": "admin"}))
        assert not [one for one in events if one.event not in ("jobs", "changed")]


def test_more_of_a_log_is_told_to_those_who_may_read_it_and_is_read_from_where_they_are(people: People) -> None:
    spec = {"name": unique("printing"), "command": "echo first; sleep 600"}
    job = people.owner.submit(spec)["id"]
    people.server.wait_for_state(job, "Running")
    size = {"worker-0": len("first\n")}
    problem(people.other.get(f"/live?topics=logs:{job}"), 403, "forbidden")
    problem(people.owner.get(f"/live?topics=logs:{job}:worker-7"), 404, "not-found")
    with people.owner.stream(f"/live?topics=logs:{job}:worker-0") as events:
        told: dict[str, int] = {}
        while told != size:
            told = {log["worker"]: log["sizeBytes"] for log in until(events, "logs", id=job)["logs"]}
        with people.owner.stream(f"/jobs/{job}/logs") as pieces:
            first = next(pieces)
        ok(people.owner.post(f"/jobs/{job}/kill", {"grace": "0s"}), 202)
        (over,) = until(events, "logs", id=job)["logs"]
        assert over == {"worker": "worker-0", "attempt": 1, "sizeBytes": len("first\n"), "isOver": True}
    with people.owner.stream(f"/jobs/{job}/logs?cursor={first.id}") as pieces:
        assert [one.event for one in pieces] == ["end"]


def test_a_stream_without_the_jobs_that_are_missing_says_which_and_tells_the_rest(people: People) -> None:
    job = people.owner.submit({"name": unique("there"), **QUIET})["id"]
    path = f"/live?topics=job:{job},job:no-such-job,logs:{job}"
    problem(people.other.get(path), 404, "not-found")
    with people.other.stream(f"{path}&skipMissing=true") as events:
        assert until(events, "ready")["missing"] == ["job:no-such-job", f"logs:{job}"]
        ok(people.owner.post(f"/jobs/{job}/kill"), 202)
        assert page_until(events, job, "Cancelled")
