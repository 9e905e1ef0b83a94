"""Tells when the files of a folder change, by inotify on the event loop: no thread, and nothing happens in between.

Where the folder is away, or the system has no watch to give, it is looked at every other second instead.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from muster.agent.inotify import (
    ATTRIB,
    CLOSE_WRITE,
    CREATE,
    DELETE,
    DELETE_SELF,
    IGNORED,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    Inotify,
)

_SETTLE_S = 0.2
"""Editors write in several steps; the last one is waited for."""
_LOOK_EVERY_S = 2.0
_CHANGES = CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ATTRIB
_FOLDER_GONE = DELETE_SELF | MOVE_SELF | IGNORED


async def folder_changes(folder: Path) -> AsyncIterator[None]:
    """Yields once the watch stands, so that nothing between an earlier reading and now is missed; then after changes.
    Never ends."""
    while True:
        watch = _Watch.on(folder)
        try:
            yield
            while watch is not None and not watch.is_over:
                await watch.changed.wait()
                await asyncio.sleep(_SETTLE_S)
                watch.changed.clear()
                yield
        finally:
            if watch is not None:
                watch.close()
        await asyncio.sleep(_LOOK_EVERY_S)


class _Watch:
    def __init__(self, inotify: Inotify) -> None:
        self.changed = asyncio.Event()
        self.is_over = False
        self._inotify = inotify

    @classmethod
    def on(cls, folder: Path) -> "_Watch | None":
        inotify = Inotify(asyncio.get_running_loop().add_reader)
        if inotify.fd < 0:
            return None
        watch = cls(inotify)
        if inotify.watch(str(folder), _CHANGES | _FOLDER_GONE, watch._told) is None:
            watch.close()
            return None
        return watch

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._inotify.fd)
        self._inotify.close()

    def _told(self, mask: int, _: bytes) -> None:
        self.is_over = self.is_over or bool(mask & _FOLDER_GONE)
        self.changed.set()
