"""Watches the size of a log. One watch on the node serves any number of followers on the server."""

import asyncio
from collections.abc import AsyncIterator


class LogWatch:
    def __init__(self, node: str) -> None:
        self.node = node
        self.followers = 0
        self._size = -1
        self._ended = False
        self._changed = asyncio.Event()

    def grown(self, size: int) -> None:
        self._size = max(self._size, size)
        self._wake()

    def end(self) -> None:
        self._ended = True
        self._wake()

    async def sizes(self) -> AsyncIterator[int]:
        """Yields the size now, and then whenever it has grown, until the end."""
        yielded = -1
        while True:
            changed = self._changed
            if self._size > yielded:
                yielded = self._size
                yield yielded
            elif self._ended:
                return
            else:
                await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
