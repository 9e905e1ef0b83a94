"""A block that waits for a caller ends when the caller leaves, and is left alone otherwise."""

import asyncio

import pytest
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import Message

from muster.server.leaving import only_while_connected


def caller(leaves: asyncio.Event) -> Request:
    async def receive() -> Message:
        await leaves.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)


def test_a_block_ends_when_its_caller_leaves() -> None:
    async def wait() -> None:
        leaves = asyncio.Event()
        async with only_while_connected(caller(leaves)):
            leaves.set()
            await asyncio.Event().wait()

    with pytest.raises(ClientDisconnect):
        asyncio.run(wait())


def test_a_block_whose_caller_stays_ends_as_it_would_alone() -> None:
    async def wait(ends: Exception | None) -> int:
        try:
            async with only_while_connected(caller(asyncio.Event())):
                if ends is not None:
                    raise ends
        finally:
            await asyncio.sleep(0)
            assert len(asyncio.all_tasks()) == 1, "nothing is left behind"
        return 1

    assert asyncio.run(wait(None)) == 1
    with pytest.raises(TimeoutError, match="its own"):
        asyncio.run(wait(TimeoutError("its own")))
