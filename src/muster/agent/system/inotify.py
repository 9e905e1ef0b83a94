"""Events of files from the kernel: one instance for the whole agent, because a user may have only few. The server
watches its settings with it too.

Where there is none, or no room for another watch, `watch` returns None, and the caller has to look for changes itself.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Callable, Dict, Optional

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
IGNORED = 0x8000
"""The watch is over."""
ONLY_DIRECTORY = 0x1000000
ONE_SHOT = 0x80000000
_EVENT = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)

Callback = Callable[[int, bytes], None]
"""The mask of what happened, and inside a watched folder the name it happened to."""


class Inotify:
    def __init__(self, add_reader: Callable[[int, Callable[[], None]], object]) -> None:
        """`add_reader` is the event loop's."""
        self._callbacks: Dict[int, Callback] = {}
        self.fd: int = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd >= 0:
            add_reader(self.fd, self._read)

    def watch(self, path: str, mask: int, callback: Callback) -> Optional[int]:
        """A number by which to end it, or None."""
        if self.fd < 0:
            return None
        number: int = _LIBC.inotify_add_watch(self.fd, os.fsencode(path), ctypes.c_uint32(mask))
        if number < 0:
            return None
        self._callbacks[number] = callback
        return number

    def unwatch(self, number: int) -> None:
        if self._callbacks.pop(number, None) is not None:
            _LIBC.inotify_rm_watch(self.fd, number)

    def close(self) -> None:
        """Close the descriptor. The caller that added its reader has removed it."""
        os.close(self.fd)

    def _read(self) -> None:
        data = os.read(self.fd, 65536)
        position = 0
        while position < len(data):
            number, mask, _, name_bytes = _EVENT.unpack_from(data, position)
            name = data[position + _EVENT.size : position + _EVENT.size + name_bytes].rstrip(b"\0")
            position += _EVENT.size + name_bytes
            callback = self._callbacks.get(number)
            if mask & IGNORED:
                self._callbacks.pop(number, None)
            if callback is not None:
                callback(mask, name)
