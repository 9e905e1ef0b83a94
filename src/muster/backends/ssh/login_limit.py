"""Turns at logging in: hundreds at once would keep the loop from all else, and each other past their deadlines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 16
PATIENCE_S = 3.0
"""Whoever takes longer most likely waits for a machine that is not there: that costs nothing, and others may go."""


class Turns:
    def __init__(self, at_once: int = AT_ONCE, patience_s: float = PATIENCE_S) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._patience_s = patience_s

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        await self._places.acquire()
        place = _Place(self._places)
        giving_up = asyncio.get_running_loop().call_later(self._patience_s, place.give_back)
        try:
            yield
        finally:
            giving_up.cancel()
            place.give_back()


class _Place:
    """Given back once, by whoever is first."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places: asyncio.Semaphore | None = places

    def give_back(self) -> None:
        places, self._places = self._places, None
        if places is not None:
            places.release()
