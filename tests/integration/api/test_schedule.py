"""The schedule as a real server answers it."""

from typing import Any

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique


def spans(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    lanes = ok(caller.get("/schedule", params=query))["lanes"]
    return [{**span, "device": lane["device"], "cluster": lane["cluster"]} for lane in lanes for span in lane["spans"]]


def an_ended_job(people: People, **resources: int) -> Any:
    job = people.owner.submit({"name": unique("lane"), "command": "true", "resources": resources})
    return people.server.wait(job["id"])


def test_a_task_is_in_a_lane_of_its_node_for_everybody_who_may_see_the_job(people: People) -> None:
    job = an_ended_job(people)
    for caller in (people.owner, people.other, people.admin):
        (span,) = [one for one in spans(caller, cluster="local") if one["job"] == job["id"]]
        assert (span["name"], span["owner"], span["cluster"]) == (job["name"], people.owner.name, "local")
        assert (span["device"], span["state"], span["from"] <= span["to"]) == (None, "Succeeded", True)


def test_a_private_job_has_no_name_in_the_schedule_of_others(private_people: People) -> None:
    job = an_ended_job(private_people, gpu=1)
    (mine,) = [span for span in spans(private_people.owner) if span["job"] == job["id"]]
    assert mine["device"] in (0, 1)
    seen = [span for span in spans(private_people.other) if span["owner"] != private_people.other.name]
    assert {(span["job"], span["name"], span["owner"], span["task"]) for span in seen} == {
        (None, "(private)", None, None)
    }


def test_windows_that_make_no_sense_are_refused(people: People) -> None:
    problem(people.owner.get("/schedule", params={"since": "1h", "until": "2h"}), 422, "invalid")
    problem(people.owner.get("/schedule", params={"since": "60d"}), 422, "invalid")
    problem(people.owner.get("/schedule", params={"since": "yesterday"}), 422, "invalid")
    problem(people.owner.get("/schedule", params={"cluster": "nowhere"}), 404, "not-found")
