"""The list of jobs: filters, orders, pages and tags. Held jobs stand still, so that every answer is known."""

from typing import Any

import pytest

from tests.conformance.openpai_api.client import PaiClient, job_file, ok, refused
from tests.integration.api.people import People, new_user, unique


class Listed:
    """Four jobs of one user and one of another, submitted in this order."""

    def __init__(self, people: People) -> None:
        first, second = new_user(people.admin, "pai"), new_user(people.admin, "pai")
        self.mine = PaiClient(people.server, first.name, first.token)
        self.theirs = PaiClient(people.server, second.name, second.token)
        self.mark = unique("mark")
        self._held(self.mine, "delta", priority="high", resources={"gpu": 1})
        self._held(self.mine, "alpha", labels={"team": "vision", "best": ""})
        self._held(self.mine, "charlie", priority="low", replicas=3)
        self._held(self.theirs, "bravo")
        self.done = f"{self.mark}-done"
        self.mine.ran(job_file(self.done, "true"), self.done)

    def _held(self, client: PaiClient, name: str, **spec: Any) -> None:
        body = {"spec": {"name": f"{self.mark}-{name}", "command": "true", "hold": True, **spec}}
        status, made = client.server.call("POST", "/api/v1/jobs", body, token=client.token)
        assert status == 201, made

    def names(self, **query: Any) -> list[str]:
        found = ok(self.mine.get("/jobs", **({"keyword": self.mark} | query)))
        return [str(one["name"]).removeprefix(f"{self.mark}-") for one in found]


@pytest.fixture(scope="module")
def listed(pai_people: People) -> Listed:
    return Listed(pai_people)


def test_the_newest_job_comes_first(listed: Listed) -> None:
    assert listed.names() == ["done", "bravo", "charlie", "alpha", "delta"]


def test_a_line_has_all_fields(listed: Listed) -> None:
    lines = {one["name"].removeprefix(f"{listed.mark}-"): one for one in ok(listed.mine.get("/jobs"))}

    delta, charlie, done = lines["delta"], lines["charlie"], lines["done"]
    assert (delta["state"], delta["subState"], delta["executionType"]) == (
        "WAITING",
        "AttemptCreationPending",
        "START",
    )
    assert (delta["totalGpuNumber"], delta["jobPriority"], delta["completedTime"]) == (1, "prod", None)
    assert (charlie["totalTaskNumber"], charlie["totalTaskRoleNumber"], charlie["jobPriority"]) == (3, 1, "oppo")
    assert lines["alpha"]["tags"] == ["best", "team=vision"]
    assert (done["state"], done["appExitCode"], done["virtualCluster"]) == ("SUCCEEDED", 0, "local")
    assert done["submissionTime"] <= done["launchedTime"] <= done["completedTime"]
    assert {"debugId", "username", "retries", "retryDetails", "retryDelayTime", "createdTime"} < set(done)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"username": "{mine}"}, ["done", "charlie", "alpha", "delta"]),
        ({"username": "{theirs}"}, ["bravo"]),
        ({"username": "{mine},{theirs}"}, ["done", "bravo", "charlie", "alpha", "delta"]),
        ({"username": "nobody"}, []),
        ({"state": "SUCCEEDED"}, ["done"]),
        ({"state": "WAITING,RUNNING"}, ["bravo", "charlie", "alpha", "delta"]),
        ({"state": "UNKNOWN"}, []),
        ({"vc": "local"}, ["done", "bravo", "charlie", "alpha", "delta"]),
        ({"vc": "default"}, ["done", "bravo", "charlie", "alpha", "delta"]),
        ({"vc": "nowhere"}, []),
        ({"jobPriority": "prod"}, ["delta"]),
        ({"jobPriority": "default"}, ["done", "bravo", "alpha"]),
        ({"jobPriority": "test,oppo"}, ["done", "bravo", "charlie", "alpha"]),
        ({"keyword": "{mark}-alp"}, ["alpha"]),
        ({"keyword": "{theirs}"}, ["bravo"]),
        ({"tagsContain": "best"}, ["alpha"]),
        ({"tagsContain": "nothing,team=vision"}, ["alpha"]),
        ({"tagsNotContain": "best"}, ["done", "bravo", "charlie", "delta"]),
        ({"offset": "1", "limit": "2"}, ["bravo", "charlie"]),
        ({"offset": "9"}, []),
        ({"limit": "0"}, []),
        ({"order": "jobName,ASC"}, ["alpha", "bravo", "charlie", "delta", "done"]),
        ({"order": "jobName,DESC", "limit": "1"}, ["done"]),
        ({"order": "submissionTime,ASC"}, ["delta", "alpha", "charlie", "bravo", "done"]),
        ({"order": "totalTaskNumber,DESC", "limit": "1"}, ["charlie"]),
        ({"order": "totalGpuNumber,DESC", "limit": "1"}, ["delta"]),
        ({"order": "completionTime,ASC", "limit": "1"}, ["done"]),
        ({"order": "state,ASC", "limit": "1"}, ["done"]),
        ({"order": "nonsense"}, ["done", "bravo", "charlie", "alpha", "delta"]),
        ({"order": "jobName,sideways"}, ["done", "bravo", "charlie", "alpha", "delta"]),
    ],
    ids=str,
)
def test_a_filter_order_or_page(listed: Listed, query: dict[str, str], names: list[str]) -> None:
    words = {"mine": listed.mine.user, "theirs": listed.theirs.user, "mark": listed.mark}
    assert listed.names(**{key: value.format(**words) for key, value in query.items()}) == names


@pytest.mark.parametrize("field", ["username", "vc", "retries", "jobPriority"])
def test_every_documented_order_is_taken(listed: Listed, field: str) -> None:
    assert sorted(listed.names(order=f"{field},ASC")) == ["alpha", "bravo", "charlie", "delta", "done"]


def test_the_total_is_counted_before_the_page_is_cut(listed: Listed) -> None:
    found = ok(listed.mine.get("/jobs", keyword=listed.mark, limit=2, offset=1, withTotalCount="true"))

    assert found["totalCount"] == 5
    assert len(found["data"]) == 2


@pytest.mark.parametrize("query", [{"limit": 50001}, {"limit": "many"}, {"offset": -1}, {"limit": "9" * 30}])
def test_a_page_that_cannot_be_is_refused(listed: Listed, query: dict[str, Any]) -> None:
    refused(listed.mine.get("/jobs", **query), 400, "InvalidParametersError")


def test_a_tag_is_a_label_and_can_be_put_on_a_job_in_any_state(listed: Listed) -> None:
    client, tag = listed.mine, unique("tag")
    for name in (listed.done, f"{listed.mark}-delta"):
        ok(client.put(client.job(name, "/tag"), {"value": tag}))
        ok(client.put(client.job(name, "/tag"), {"value": tag}))
        assert tag in client.detail(name)["tags"]
    assert listed.names(tagsContain=tag) == ["done", "delta"]
    labelled = client.server.call("GET", f"/api/v1/jobs?label={tag}=", token=client.token)[1]["items"]
    assert {job["name"] for job in labelled} == {listed.done, f"{listed.mark}-delta"}

    for name in (listed.done, f"{listed.mark}-delta"):
        ok(client.delete(client.job(name, "/tag"), {"value": tag}))
    assert listed.names(tagsContain=tag) == []
    refused(client.delete(client.job(listed.done, "/tag"), {"value": tag}), 404, "NoTagError")
    events = client.server.call("GET", f"/api/v1/jobs/{listed.done}/events", token=client.token)[1]["items"]
    recorded = [event["actor"] for event in events if event["kind"] == "audit.job.label"]
    assert recorded == [client.user] * 3


def test_a_running_job_is_tagged_and_goes_on(owner: PaiClient) -> None:
    name = unique("tagged")
    ok(owner.submit(job_file(name, "exec tail -f /dev/null")), 202)
    owner.wait(name, "RUNNING")

    ok(owner.put(owner.job(name, "/tag"), {"value": "kept"}))
    ok(owner.put(owner.job(name, "/executionType"), {"value": "STOP"}), 202)

    found = owner.wait(name)
    assert (found["jobStatus"]["state"], found["tags"]) == ("STOPPED", ["kept"])


def test_only_the_owner_and_admins_tag_a_job(listed: Listed, other: PaiClient, admin: PaiClient) -> None:
    tag = listed.mine.job(listed.done, "/tag")
    refused(other.put(tag, {"value": "x"}), 403, "ForbiddenUserError")
    refused(other.delete(tag, {"value": "x"}), 403, "ForbiddenUserError")
    ok(admin.put(tag, {"value": "by-admin"}))
    ok(admin.delete(tag, {"value": "by-admin"}))


@pytest.mark.parametrize("value", ["", "x" * 300, "two\nlines", "=value", 7, None])
def test_a_tag_that_cannot_be_is_refused(listed: Listed, value: object) -> None:
    refused(listed.mine.put(listed.mine.job(listed.done, "/tag"), {"value": value}), 400, "InvalidParametersError")


def test_a_tag_does_not_replace_another_value_of_its_label(listed: Listed) -> None:
    client = listed.mine
    alpha = client.job(f"{listed.mark}-alpha", "/tag")
    said = refused(client.put(alpha, {"value": "team=speech"}), 400, "InvalidParametersError")
    assert "team=vision" in said
