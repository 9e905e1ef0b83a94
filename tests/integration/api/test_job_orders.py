"""The list of jobs in any order, with its total, and by reason: only of jobs that one may read."""

from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique


def listed(me: Caller, **query: Any) -> list[dict[str, Any]]:
    """All jobs, page by page."""
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = ok(me.get("/jobs", params={**query, "limit": 2, **({"cursor": cursor} if cursor else {})}))
        items += page["items"]
        if (cursor := page["nextCursor"]) is None:
            return items


@pytest.fixture(scope="module")
def label(private_people: People) -> str:
    """The label of four held jobs of the owner, of different priority and size."""
    value = unique("order")
    for name, priority, replicas in (("b", "low", 2), ("d", "high", 1), ("a", "normal", 3), ("c", "normal", 0)):
        gpus = {"replicas": replicas, "resources": {"gpu": 0.5}} if replicas else {}
        spec = {"name": f"{value}-{name}", "command": "true", "hold": True, "priority": priority, **gpus}
        private_people.owner.submit({**spec, "labels": {"set": value}})
    return f"set={value}"


@pytest.mark.parametrize(
    ("sort", "order", "expected"),
    [
        ("created", None, "cadb"),
        ("created", "asc", "bdac"),
        ("name", None, "abcd"),
        ("name", "desc", "dcba"),
        ("gpus", None, "abdc"),
        ("gpus", "asc", "cdba"),
        ("priority", None, "dcab"),
        ("priority", "asc", "bacd"),
        ("started", None, "cadb"),
        ("owner", "asc", "bdac"),
    ],
)
def test_pages_come_in_the_order_that_was_asked_for(
    private_people: People, label: str, sort: str, order: str | None, expected: str
) -> None:
    query = {"label": label, "sort": sort, **({"order": order} if order else {})}
    assert "".join(job["name"][-1] for job in listed(private_people.owner, **query)) == expected


def test_a_page_says_how_many_there_are_if_asked(private_people: People, label: str) -> None:
    query = {"label": label, "limit": 1}
    assert "total" not in ok(private_people.owner.get("/jobs", params=query))
    assert ok(private_people.owner.get("/jobs", params={**query, "total": True}))["total"] == 4


def test_an_order_that_does_not_exist_is_refused(people: People) -> None:
    for query in ("sort=luck", "order=up", "origin=others&sort=name"):
        assert people.owner.get(f"/jobs?{query}").status_code in (400, 422)
    page = ok(people.admin.get("/jobs?sort=name&limit=1"))
    if page["nextCursor"] is not None:
        problem(people.admin.get(f"/jobs?sort=owner&cursor={page['nextCursor']}"), 422, "invalid")


def test_jobs_are_found_by_why_they_ended_or_wait_and_only_by_those_who_may_read_them(people: People) -> None:
    word = unique("reason")
    failed = people.owner.submit({"name": unique("job"), "command": "exit 3", "labels": {"why": word}})["id"]
    reason = people.owner.server.wait(failed)["reason"]
    held = people.owner.submit({"name": unique("job"), "command": "true", "hold": True, "labels": {"why": word}})["id"]
    waits = ok(people.owner.get(f"/jobs/{held}"))["reason"]
    query = {"label": f"why={word}"}
    assert reason
    assert [job["id"] for job in listed(people.owner, **query, reason=reason[:20].upper())] == [failed]
    assert [job["id"] for job in listed(people.admin, **query, reason=reason[:20])] == [failed]
    if waits:
        assert held in [job["id"] for job in listed(people.owner, **query, reason=waits[:20])]
    assert listed(people.other, **query, reason=reason[:20]) == []
    assert listed(people.other, **query, owner=people.owner.name, reason=reason[:20]) == []
