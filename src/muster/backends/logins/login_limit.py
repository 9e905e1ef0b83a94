"""Limits how many logins run at once: hundreds would block the event loop, and make each other miss their deadlines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 16
PATIENCE_S = 3.0
"""A login that takes longer most likely waits for a machine that is off. That costs nothing, so the next one may
start."""


class LoginLimit:
    def __init__(self, at_once: int = AT_ONCE, patience_s: float = PATIENCE_S) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._patience_s = patience_s

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        await self._slots.acquire()
        slot = _Slot(self._slots)
        giving_up = asyncio.get_running_loop().call_later(self._patience_s, slot.release)
        try:
            yield
        finally:
            giving_up.cancel()
            slot.release()


class _Slot:
    """It is released once, by the timer or by the end of the login."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots: asyncio.Semaphore | None = slots

    def release(self) -> None:
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.release()
