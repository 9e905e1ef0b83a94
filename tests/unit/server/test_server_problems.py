"""Errors of the domain, as the server answers them."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from muster.domain.errors import MusterError, NotOffered
from muster.server import problems

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


def test_a_problem_has_only_the_keys_that_its_error_has() -> None:
    assert set(answered(MusterError("broken"))) == {"type", "title", "status", "code", "detail"}


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
