"""Reports changes of the files in a folder with inotify on the event loop, without a thread and without polling.

If the folder is missing, or the system has no inotify watch left, the folder is polled every two seconds instead. Files
outside the folder are always polled, because they may be on a network file system, where inotify reports nothing.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from muster.settings.cluster_files import is_document

_MODIFY = 0x2
_ATTRIB = 0x4
_CLOSE_WRITE = 0x8
_MOVED_FROM = 0x40
_MOVED_TO = 0x80
_CREATE = 0x100
_DELETE = 0x200
_DELETE_SELF = 0x400
_MOVE_SELF = 0x800
_IGNORED = 0x8000
"""Events of inotify(7), as the kernel numbers them."""
_SETTLE_S = 0.2
"""Editors save a file in several steps; changes are reported after the last one."""
_LOOK_EVERY_S = 2.0
_WRITTEN_WITHIN_S = 10.0
"""How long to wait until a file that is being written is closed; an incomplete file may look valid."""
_DONE = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _DELETE
_CHANGES = _DONE | _CREATE | _ATTRIB
_Mark = tuple[int, int, int, int] | int | None
"""Identifies a version of a file: its stat, or the error number if there is none."""
_FOLDER_GONE = _DELETE_SELF | _MOVE_SELF | _IGNORED


class Inotify(Protocol):
    """An instance of inotify whose events come by the event loop."""

    @property
    def fd(self) -> int:
        """Negative if the system has no instance left."""

    def watch(self, path: str, mask: int, callback: Callable[[int, bytes], None]) -> int | None:
        """Calls back with the event and the name of the file. Returns None if the folder cannot be watched."""

    def close(self) -> None: ...


OpenInotify = Callable[[Callable[[int, Callable[[], None]], object]], Inotify]
"""Opens an instance; takes the event loop's `add_reader`."""


def _nothing() -> Iterable[Path]:
    return ()


async def folder_changes(
    folder: Path, open_inotify: OpenInotify, beside: Callable[[], Iterable[Path]] = _nothing
) -> AsyncIterator[None]:
    """Yield once when the watch is set up, so that no earlier change is missed, and then after every change.

    `beside` is called before each wait and returns the files outside the folder to watch. The iterator never ends.
    """
    while True:
        watch = _Watch.on(folder, open_inotify)
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
        """Cluster files that were written and not closed yet. Editors keep other files open as long as they run."""

    @classmethod
    def on(cls, folder: Path, open_inotify: OpenInotify) -> "_Watch | None":
        inotify = open_inotify(asyncio.get_running_loop().add_reader)
        if inotify.fd < 0:
            return None
        watch = cls(inotify)
        if inotify.watch(str(folder), _CHANGES | _MODIFY | _FOLDER_GONE, watch._told) is None:
            watch.close()
            return None
        return watch

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._inotify.fd)
        self._inotify.close()

    async def settled(self) -> None:
        await asyncio.sleep(_SETTLE_S)
        deadline = asyncio.get_running_loop().time() + _WRITTEN_WITHIN_S
        while self._begun and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - polling is enough here
            await asyncio.sleep(_SETTLE_S)
        self._begun.clear()

    def _told(self, mask: int, name: bytes) -> None:
        if mask & _MODIFY and is_document(os.fsdecode(name)):
            self._begun.add(name)
        if mask & _DONE:
            self._begun.discard(name)
        self.is_over = self.is_over or bool(mask & _FOLDER_GONE)
        if mask & (_CHANGES | _FOLDER_GONE):
            self.changed.set()
