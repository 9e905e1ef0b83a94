"""Every cell of the table of rights: who calls what, with jobs public and private."""

import importlib
import pkgutil
from collections.abc import Iterator

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from muster.server import routes
from muster.server.app import create_app
from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People
from tests.integration.api.rights_table import TABLE, Row
from tests.integration.api.world import World

LOGGED_IN = ("owner", "other", "admin")
WHO = (*LOGGED_IN, "nobody", "disabled", "expired", "revoked")
CELLS = [pytest.param(row, who, id=f"{row.title} by {who}") for row in TABLE for who in WHO]


@pytest.fixture(scope="session")
def world(people: People) -> World:
    return World(people)


@pytest.fixture(scope="session")
def private_world(private_people: People) -> World:
    return World(private_people)


@pytest.mark.fast
def test_every_route_of_the_application_is_in_the_table() -> None:
    documented = {
        f"{method.upper()} {path}"
        for path, methods in create_app(None).openapi()["paths"].items()
        for method in methods
    }
    assert documented | {"GET /openapi.json", *_undocumented()} == {row.title for row in TABLE}
    assert len(TABLE) == len({row.title for row in TABLE})


def _undocumented() -> Iterator[str]:
    """Health, metrics and the page, and whatever else a router keeps out of the document."""
    for module in pkgutil.iter_modules(routes.__path__):
        for found in vars(importlib.import_module(f"{routes.__name__}.{module.name}")).values():
            for route in found.routes if isinstance(found, APIRouter) else ():
                if isinstance(route, APIRoute) and not (route.include_in_schema and found.include_in_schema):
                    yield from (f"{method} {route.path}" for method in route.methods or ())


@pytest.mark.parametrize(("row", "who"), CELLS)
def test_a_call_when_jobs_are_public(row: Row, who: str, world: World) -> None:
    expected = getattr(row, who) if who in LOGGED_IN else _stranger(row)
    answer = _call(row, who, world)
    assert answer.status_code == expected, answer.text


@pytest.mark.parametrize(("row", "who"), CELLS)
def test_a_call_when_jobs_are_private(row: Row, who: str, private_world: World) -> None:
    expected = getattr(row, who) if who in LOGGED_IN else _stranger(row)
    if who == "other" and row.private is not None:
        expected = row.private
    answer = _call(row, who, private_world)
    assert answer.status_code == expected, answer.text


def _stranger(row: Row) -> int:
    return row.owner if row.open_to_all else 401


def _call(row: Row, who: str, world: World) -> httpx.Response:
    caller: Caller = getattr(world.people, who)
    path = row.route
    for name, kind in row.given.items():
        path = path.replace(f"{{{name}}}", world.thing(kind))
    if row.own_token and who in LOGGED_IN:
        caller = Caller(caller.server, ok(caller.post("/tokens", {"name": "brief"}), 201)["secret"])
    headers = {"Authorization": f"Bearer {caller.token}"} if caller.token else {}
    with httpx.stream(
        row.method,
        f"{caller.server.url}{path}",
        headers=headers,
        params=world.filled(dict(row.query)),
        json=world.filled(row.body),
        content=row.piece,
        timeout=60,
        verify=False,
    ) as answer:
        if not (row.is_stream and answer.is_success):
            answer.read()
    return answer
