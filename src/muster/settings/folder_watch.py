"""Tells when the files of a folder change, by inotify on the event loop: no thread, and nothing happens in between.

Where the folder is away, or the system has no watch to give, it is looked at every other second instead. So are files
beside it, which may lie on a network where nobody tells.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from muster.agent.system.inotify import (
    ATTRIB,
    CLOSE_WRITE,
    CREATE,
    DELETE,
    DELETE_SELF,
    IGNORED,
    MODIFY,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    Inotify,
)
from muster.settings.cluster_files import is_document

_SETTLE_S = 0.2
"""Editors write in several steps; the last one is waited for."""
_LOOK_EVERY_S = 2.0
_WRITTEN_WITHIN_S = 10.0
"""So long a file that somebody has begun to write is waited for: half of one may be right by itself."""
_DONE = CLOSE_WRITE | MOVED_FROM | MOVED_TO | DELETE
_CHANGES = _DONE | CREATE | ATTRIB
_Mark = tuple[int, int, int, int] | int | None
"""What tells one state of a file from the next: its stat, or why there is none."""
_FOLDER_GONE = DELETE_SELF | MOVE_SELF | IGNORED


def _nothing() -> Iterable[Path]:
    return ()


async def folder_changes(folder: Path, beside: Callable[[], Iterable[Path]] = _nothing) -> AsyncIterator[None]:
    """Yields once the watch stands, so that nothing between an earlier reading and now is missed; then after changes.
    `beside` says, before each time, which other files are looked at. Never ends."""
    while True:
        watch = _Watch.on(folder)
        try:
            seen = _marks(beside())  # before the reading, so that a change during it is not missed
            yield
            while watch is not None and not watch.is_over:
                await _changed(watch, seen)
                await watch.settled()
                watch.changed.clear()
                seen = _marks(beside())
                yield
        finally:
            if watch is not None:
                watch.close()
        await asyncio.sleep(_LOOK_EVERY_S)


async def _changed(watch: "_Watch", seen: Mapping[Path, _Mark]) -> None:
    if not seen:
        await watch.changed.wait()
        return
    while not watch.changed.is_set() and _marks(seen) == seen:
        with suppress(TimeoutError):
            await asyncio.wait_for(watch.changed.wait(), _LOOK_EVERY_S)


def _marks(files: Iterable[Path]) -> dict[Path, _Mark]:
    return {file: _mark(file) for file in files}


def _mark(file: Path) -> _Mark:
    try:
        found = file.stat()
    except OSError as error:
        return error.errno
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


class _Watch:
    def __init__(self, inotify: Inotify) -> None:
        self.changed = asyncio.Event()
        self.is_over = False
        self._inotify = inotify
        self._begun: set[bytes] = set()
        """Cluster files that were written and not closed since. Editors hold others open for as long as they run."""

    @classmethod
    def on(cls, folder: Path) -> "_Watch | None":
        inotify = Inotify(asyncio.get_running_loop().add_reader)
        if inotify.fd < 0:
            return None
        watch = cls(inotify)
        if inotify.watch(str(folder), _CHANGES | MODIFY | _FOLDER_GONE, watch._told) is None:
            watch.close()
            return None
        return watch

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._inotify.fd)
        self._inotify.close()

    async def settled(self) -> None:
        await asyncio.sleep(_SETTLE_S)
        deadline = asyncio.get_running_loop().time() + _WRITTEN_WITHIN_S
        while self._begun and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - a look now and then will do
            await asyncio.sleep(_SETTLE_S)
        self._begun.clear()

    def _told(self, mask: int, name: bytes) -> None:
        if mask & MODIFY and is_document(os.fsdecode(name)):
            self._begun.add(name)
        if mask & _DONE:
            self._begun.discard(name)
        self.is_over = self.is_over or bool(mask & _FOLDER_GONE)
        if mask & (_CHANGES | _FOLDER_GONE):
            self.changed.set()
