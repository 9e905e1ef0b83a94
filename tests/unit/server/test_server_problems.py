"""Errors of the domain, as the server answers them."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from muster.domain.errors import MusterError, NotOffered, Unreachable
from muster.server import problems
from muster.wire.requests import UserIn

pytestmark = pytest.mark.fast


def test_a_capability_that_the_cluster_does_not_offer_is_not_implemented() -> None:
    answer = answered(NotOffered("files", "lab", hint="Use another cluster."))
    assert answer == {
        "type": "urn:muster:problem:not-offered",
        "title": "Not Implemented",
        "status": 501,
        "code": "not-offered",
        "detail": "cluster lab does not offer files",
        "hint": "Use another cluster.",
        "capability": "files",
        "cluster": "lab",
    }


def test_a_node_that_did_not_answer_is_asked_again_later() -> None:
    answer = problems.problem_of(Unreachable("agent on n1 did not answer fs_list"))
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_problem_has_only_the_keys_that_its_error_has() -> None:
    assert set(answered(MusterError("broken"))) == {"type", "title", "status", "code", "detail"}


@pytest.mark.parametrize(
    ("path", "detail", "hint"),
    [
        ("/jobs/sweep%2Fnet", "there is nothing at /jobs/sweep/net", "names have no '/'"),
        ("/nosuch", "there is nothing at /nosuch", None),
    ],
)
def test_an_address_that_leads_nowhere_is_named(path: str, detail: str, hint: str | None) -> None:
    app = FastAPI()
    problems.install(app)

    async def ask() -> dict[str, str]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://muster") as client:
            found: dict[str, str] = (await client.get(path)).json()
            return found

    answer = asyncio.run(ask())
    assert (answer["code"], answer["detail"], answer.get("hint")) == ("not-found", detail, hint)


@pytest.mark.parametrize(
    ("body", "path", "said"),
    [
        ({"name": "li", "password": "short"}, "body.password", "must have at least 8 characters"),
        ({"name": "li", "password": "x" * 1025}, "body.password", "must have at most 1024 characters"),
        ({"name": "no spaces"}, "body.name", "must have letters, digits, '.', '_', '@' and '-' only"),
        ({}, "body.name", "is required"),
        ({"name": "li", "passwrd": "x"}, "body.passwrd", "is unknown"),
    ],
)
def test_a_malformed_request_is_refused_in_plain_words(body: dict[str, str], path: str, said: str) -> None:
    app = FastAPI()
    problems.install(app)

    @app.post("/")
    async def add(body: UserIn) -> None:
        return None

    async def ask() -> list[dict[str, str]]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://muster") as client:
            found: list[dict[str, str]] = (await client.post("/", json=body)).json()["problems"]
            return found

    (problem,) = asyncio.run(ask())
    assert problem["path"] == path
    assert problem["message"].startswith(said)


def answered(error: MusterError) -> dict[str, object]:
    app = FastAPI()
    problems.install(app)

    @app.get("/")
    async def fail() -> None:
        raise error

    async def ask() -> dict[str, object]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://muster") as client:
            found: dict[str, object] = (await client.get("/")).json()
            return found

    return asyncio.run(ask())
