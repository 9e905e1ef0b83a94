"""Tells when the files of a folder change, by inotify on the event loop: no thread, and nothing happens in between.

Where the folder is away, or the system has no watch to give, it is looked at every other second instead.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import AsyncIterator
from pathlib import Path

_SETTLE_S = 0.2
"""Editors write in several steps; the last one is waited for."""
_LOOK_EVERY_S = 2.0
_CHANGES = 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x4
"""Closed after writing, moved out or in, created, deleted, other rights."""
_FOLDER_GONE = 0x400 | 0x800 | 0x8000
"""Deleted or moved itself; the watch ended."""
_EVENT = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)


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
    def __init__(self, descriptor: int) -> None:
        self.changed = asyncio.Event()
        self.is_over = False
        self._descriptor = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    @classmethod
    def on(cls, folder: Path) -> "_Watch | None":
        descriptor = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            return None
        mask = ctypes.c_uint32(_CHANGES | _FOLDER_GONE)
        if _LIBC.inotify_add_watch(descriptor, os.fsencode(folder), mask) < 0:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        data = os.read(self._descriptor, 65536)
        position = 0
        while position < len(data):
            _, mask, _, name_bytes = _EVENT.unpack_from(data, position)
            position += _EVENT.size + name_bytes
            self.is_over = self.is_over or bool(mask & _FOLDER_GONE)
        self.changed.set()
