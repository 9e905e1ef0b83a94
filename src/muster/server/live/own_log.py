"""What the server writes to its own log, for live streams of admins. The file is read while somebody listens, once for
all of them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muster.lib.rotated_reading import Position, lines_after, position_before
from muster.server.live.messages import message
from muster.server.log_entries import entry_of

_LOOK_EVERY_S = 0.5
_MOST_BYTES = 512 << 10
"""What is told at once. If more has been written, pages are told only where the log ends, and read it themselves."""


class OwnLogGrowth:
    """`grown` is called whenever there is something to tell."""

    def __init__(self, path: Path | None, grown: Callable[[], None]) -> None:
        self._path = path
        self._grown = grown
        self._work: asyncio.Task[None] | None = None
        self._told: Position | None = None
        """Up to where listeners have been told everything; None before the file has been looked at."""
        self._read: Position | None = None
        """Up to where the file has been read."""
        self._items: list[dict[str, Any]] = []
        self._bytes = 0
        self._opening: bytes | None = None
        self._news: bytes | None = None

    def watch(self, *, is_wanted: bool) -> None:
        """Begin or end to read the file, and take what has been read since the last round."""
        if not is_wanted or self._path is None:
            self.close()
            return
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._follow(self._path), name="watching the server's log")
        self._opening = self._news = None
        if self._read is None:
            return
        if self._told is not None and self._read != self._told:
            after = str(self._told) if self._bytes <= _MOST_BYTES else None
            self._news = _message(after, self._items, self._read)
        self._opening = _message(None, [], self._read)
        self._told, self._items, self._bytes = self._read, [], 0

    def message(self, *, has_begun: bool) -> bytes | None:
        """What is new for a listener, or, for one that has not been told anything, where the log ends now."""
        return self._news if has_begun else self._opening

    def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
        self._work = self._told = self._read = self._opening = self._news = None
        self._items, self._bytes = [], 0

    async def _follow(self, path: Path) -> None:
        at = await asyncio.to_thread(position_before, path, 0)
        while True:
            lines = await asyncio.to_thread(lines_after, path, at)
            for line, _ in lines:
                self._bytes += len(line)
                if self._bytes <= _MOST_BYTES:
                    self._items.append(entry_of(line))
            if lines:
                at = lines[-1][1]
            if lines or self._read is None:
                self._read = at
                self._grown()
            if not lines:
                await asyncio.sleep(_LOOK_EVERY_S)


def _message(after: str | None, items: list[dict[str, Any]], end: Position) -> bytes:
    return message("serverLog", {"after": after, "items": [] if after is None else items, "nextCursor": str(end)})
