"""Every cell of the table of rights of OpenPAI's API, with jobs public and private."""

from functools import cached_property

import httpx
import pytest
from fastapi.routing import APIRoute

from muster.server.compatibility.openpai import ROUTERS
from tests.conformance.openpai_api.client import PaiClient, job_file
from tests.conformance.openpai_api.rights_table import TABLE, Row
from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People, unique

LOGGED_IN = ("owner", "other", "admin")
STRANGERS = ("nobody", "disabled", "expired", "revoked")
CALLED = {"/api/v2": TABLE["/api/v2"], "/rest-server/api/v1": TABLE["/rest-server/api/v1"]}
"""The other prefixes have the same routes."""
CALLS = [(prefix, row) for prefix, rows in CALLED.items() for row in rows]


class Things:
    """What the calls are about."""

    def __init__(self, people: People) -> None:
        self.people = people

    @cached_property
    def job(self) -> str:
        name, owner = unique("rights"), self.people.owner
        PaiClient(owner.server, owner.name, owner.token).ran(job_file(name, "true"), name)
        return name

    @cached_property
    def foreign_token(self) -> str:
        """The id of a token that nobody who calls has."""
        return "1m7kms63r6qpp414"

    def path(self, row: Row) -> str:
        owner = self.people.owner.name
        return row.route.format(
            name=f"{owner}~{self.job}" if "{name}" in row.route else "",
            job=self.job if "{job}" in row.route else "",
            user=owner,
            attempt=0,
            role="worker",
            index=0,
            task_attempt=0,
            cluster="local",
            storage="nothing",
            token=self.foreign_token,
            task="nothing.1.worker.0",
            path="nonsense",
        )


@pytest.fixture(scope="session")
def things(pai_people: People) -> Things:
    return Things(pai_people)


@pytest.fixture(scope="session")
def private_things(private_pai_people: People) -> Things:
    return Things(private_pai_people)


@pytest.mark.fast
def test_every_route_is_in_the_table() -> None:
    routes = [(prefix, route) for prefix, router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    found = {f"{method} {prefix}{route.path}" for prefix, route in routes for method in route.methods or ()}
    expected = {f"{row.method} {prefix}{_declared(row)}" for prefix, rows in TABLE.items() for row in rows}
    assert found == expected
    assert not any(router.include_in_schema for _, router in ROUTERS)


def _declared(row: Row) -> str:
    """The route as it is written in the code, where some parts have other names."""
    route = row.route.replace("/{path}", "/{path:path}").replace("/{token}", "/{given}")
    if route.startswith(("/users/{user}", "/virtual-clusters/{cluster}", "/storages/{storage}")):
        return route[: route.index("{")] + "{name}" + route[route.index("}") + 1 :]
    if route == "/user/{user}":
        return "/user/{name}"
    if route.startswith(("/groups/default", "/group/default")):
        return route.replace("default", "{name}")
    if route.startswith(("/jobs/{name}/attempts/{attempt}", "/jobs/{name}/job-attempts/{attempt}")):
        return route if "taskRoles" in route else route.replace("{attempt}", "{index}")
    return route


@pytest.mark.parametrize("who", [*LOGGED_IN, *STRANGERS])
@pytest.mark.parametrize(("prefix", "row"), CALLS, ids=lambda value: getattr(value, "title", value))
def test_a_call_when_jobs_are_public(prefix: str, row: Row, who: str, things: Things) -> None:
    answer = _call(prefix, row, who, things)
    assert answer.status_code == _expected(row, who), answer.text


@pytest.mark.parametrize("who", LOGGED_IN)
@pytest.mark.parametrize(("prefix", "row"), CALLS, ids=lambda value: getattr(value, "title", value))
def test_a_call_when_jobs_are_private(prefix: str, row: Row, who: str, private_things: Things) -> None:
    expected = row.private if who == "other" and row.private is not None else _expected(row, who)
    answer = _call(prefix, row, who, private_things)
    assert answer.status_code == expected, answer.text


def test_a_refusal_has_the_form_of_openpai(things: Things) -> None:
    for row in TABLE["/api/v2"]:
        for who in ("other", "nobody"):
            answer = _call("/api/v2", row, who, things)
            if answer.status_code >= 400:
                assert set(answer.json()) == {"code", "message"}, row.title


def test_a_token_for_one_job_is_for_the_api_of_muster_only(things: Things) -> None:
    owner = things.people.owner
    body = {"name": "one", "job": things.job, "scope": "submit"}
    token = ok(owner.post("/tokens", body), 201)["secret"]
    for row in TABLE["/api/v2"]:
        if not row.open_to_all and not row.own_token:
            answer = _send("/api/v2", row, Caller(owner.server, token), things)
            assert answer.status_code == 403, row.title


def test_a_token_for_reading_changes_nothing(things: Things) -> None:
    owner = things.people.owner
    token = ok(owner.post("/tokens", {"name": "reads", "scope": "read"}), 201)["secret"]
    for row in TABLE["/api/v2"]:
        if row.method != "GET" and not row.open_to_all and not row.own_token:
            answer = _send("/api/v2", row, Caller(owner.server, token), things)
            assert answer.status_code == 403, row.title


def test_a_cookie_is_no_token_here(things: Things) -> None:
    owner = things.people.owner
    cookies = {"muster_session": owner.token}
    answer = httpx.get(f"{owner.server.url}/api/v2/users/me", cookies=cookies, timeout=60)
    assert answer.status_code == 401


def _expected(row: Row, who: str) -> int:
    if who in LOGGED_IN:
        return int(getattr(row, who))
    return row.owner if row.open_to_all else 401


def _call(prefix: str, row: Row, who: str, things: Things) -> httpx.Response:
    caller: Caller = getattr(things.people, who)
    if row.own_token and who in LOGGED_IN:
        caller = Caller(caller.server, ok(caller.post("/tokens", {"name": "brief"}), 201)["secret"])
    return _send(prefix, row, caller, things)


def _send(prefix: str, row: Row, caller: Caller, things: Things) -> httpx.Response:
    headers = {"Authorization": f"Bearer {caller.token}"} if caller.token else {}
    url = f"{caller.server.url}{prefix}{things.path(row)}{row.query}"
    return httpx.request(row.method, url, headers=headers, json=row.body, timeout=60)
