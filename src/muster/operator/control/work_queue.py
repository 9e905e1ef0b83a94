"""The keys of jobs that have to be looked at. A key waits at most once, and is never worked on twice at a time."""

import asyncio
from collections import deque

from muster.kubernetes.resources import Key


class WorkQueue:
    def __init__(self) -> None:
        self._waiting: deque[Key] = deque()
        self._known: set[Key] = set()
        self._active: set[Key] = set()
        self._again: set[Key] = set()
        self._timers: dict[Key, tuple[float, asyncio.Handle]] = {}
        """When each key is due, and what cancels it. A handle of uvloop does not always know its time."""
        self._available = asyncio.Semaphore(0)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, key: Key) -> None:
        if key in self._active:
            self._again.add(key)
        elif key not in self._known:
            self._known.add(key)
            self._waiting.append(key)
            self._available.release()

    def add_after(self, key: Key, seconds: float) -> None:
        """Look at it again after that time, or earlier if an earlier time is set already."""
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, seconds)
        before = self._timers.get(key)
        if before is not None:
            if before[0] <= at:
                return
            before[1].cancel()
        self._timers[key] = (at, loop.call_at(at, self._fire, key))

    async def take(self) -> Key:
        await self._available.acquire()
        key = self._waiting.popleft()
        self._known.discard(key)
        self._active.add(key)
        return key

    def done(self, key: Key) -> None:
        self._active.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def forget(self, key: Key) -> None:
        """Cancel the timer of a job that is gone."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer[1].cancel()

    def _fire(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)
