"""What the kernel tells of files: one instance for the whole agent, because a user may have only few.

Where there is none, or no room for another watch, `watch` answers None and whoever asked looks by itself.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Callable, Dict, Optional

from muster.agent.loop import Loop

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_TO = 0x80
ONLY_DIRECTORY = 0x1000000
ONE_SHOT = 0x80000000
_IGNORED = 0x8000
_EVENT = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)

Callback = Callable[[int, bytes], None]
"""The mask of what happened, and inside a watched folder the name it happened to."""


class Inotify:
    def __init__(self, loop: Loop) -> None:
        self._callbacks: Dict[int, Callback] = {}
        self._fd: int = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd >= 0:
            loop.add_reader(self._fd, self._read)

    def watch(self, path: str, mask: int, callback: Callback) -> Optional[int]:
        """A number by which to end it, or None."""
        if self._fd < 0:
            return None
        number: int = _LIBC.inotify_add_watch(self._fd, os.fsencode(path), ctypes.c_uint32(mask))
        if number < 0:
            return None
        self._callbacks[number] = callback
        return number

    def unwatch(self, number: int) -> None:
        if self._callbacks.pop(number, None) is not None:
            _LIBC.inotify_rm_watch(self._fd, number)

    def _read(self) -> None:
        data = os.read(self._fd, 65536)
        position = 0
        while position < len(data):
            number, mask, _, name_bytes = _EVENT.unpack_from(data, position)
            name = data[position + _EVENT.size : position + _EVENT.size + name_bytes].rstrip(b"\0")
            position += _EVENT.size + name_bytes
            callback = self._callbacks.get(number)
            if mask & _IGNORED:
                self._callbacks.pop(number, None)
            elif callback is not None:
                callback(mask, name)
