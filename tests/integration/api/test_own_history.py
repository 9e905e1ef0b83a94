"""History where there is no log server: the jobs that this server has."""

from typing import Any

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique


def submitted(who: Caller) -> dict[str, Any]:
    spec = {"name": unique("past"), "command": "true", "hold": True, "params": {"lr": 0.1}}
    made: dict[str, Any] = who.submit(spec)
    return made


def test_jobs_are_listed_newest_first_page_by_page(people: People) -> None:
    made = [submitted(people.owner)["id"] for _ in range(2)]
    page = ok(people.owner.get("/history", params={"text": "past", "limit": 1, "since": "1h"}))
    rest = ok(people.owner.get("/history", params={"text": "past", "cursor": page["nextCursor"]}))
    assert [one["id"] for one in (*page["items"], *rest["items"])] == made[::-1]
    (newest,) = page["items"]
    assert (newest["receiver"], newest["state"], newest["params"], newest["owner"]) == (
        *("-", "Held", {"lr": 0.1}),
        people.owner.name,
    )


def test_a_job_is_shown_with_its_config_and_all_that_happened_to_it(people: People) -> None:
    made = submitted(people.owner)
    ok(people.owner.post(f"/jobs/{made['id']}/kill"), 202)
    found = ok(people.owner.get(f"/history/-/{made['id']}"))
    assert (found["job"]["name"], found["job"]["state"]) == (made["name"], "Cancelled")
    assert [one["kind"] for one in found["records"]] == ["job.held", "job.cancelled"]
    assert found["records"][0]["config"]["params"] == {"lr": 0.1}


def test_others_see_nothing_of_it_and_admins_all(people: People) -> None:
    made = submitted(people.owner)
    for path in ("/history", f"/history?text={made['name']}", f"/history?owner={people.owner.name}"):
        assert made["id"] not in [one["id"] for one in ok(people.other.get(path))["items"]]
    problem(people.other.get(f"/history/-/{made['id']}"), 404, "not-found")
    problem(people.owner.get(f"/history/other/{made['id']}"), 404, "not-found")
    assert made["id"] in [one["id"] for one in ok(people.admin.get("/history"))["items"]]


def test_jobs_of_other_servers_need_a_log_server(people: People) -> None:
    refused = problem(people.owner.get("/history", params={"all": "true"}), 404, "not-found")
    assert "no log server" in refused["detail"]
