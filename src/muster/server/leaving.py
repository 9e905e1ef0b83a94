"""What waits on behalf of a caller ends when the caller leaves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request
from starlette.requests import ClientDisconnect


@asynccontextmanager
async def only_while_connected(request: Request) -> AsyncIterator[None]:
    """Ends the block with ClientDisconnect as soon as the caller has left. The body must have been read."""
    has_left = asyncio.timeout(None)
    try:
        async with has_left:
            watching = asyncio.create_task(_end_when_gone(request, has_left))
            try:
                yield
            finally:
                watching.cancel()
    except TimeoutError:
        if has_left.expired():
            raise ClientDisconnect from None
        raise


async def _end_when_gone(request: Request, block: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    block.reschedule(0)
