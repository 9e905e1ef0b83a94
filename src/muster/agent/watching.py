"""Tells when logs grow. Noticed by inotify; where there is none, by looking ten times a second.

A watch is armed for one event only and armed anew 40 ms later, so a task that writes a million lines costs the agent
25 wake-ups a second and not a million.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Callable, Dict, Optional

from muster.agent.folders import LOG
from muster.agent.loop import Loop
from muster.agent.tasks import Task

_APART_S = 0.04
_POLL_S = 0.1
_IN_MODIFY = 0x2
_IN_ONESHOT = 0x80000000
_EVENT = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Watch:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.told = -1
        self.descriptor = -1


class LogWatching:
    def __init__(self, loop: Loop, tell: Callable[[str, int], None]) -> None:
        self._loop = loop
        self._tell = tell
        self._watches: Dict[str, _Watch] = {}
        self._by_descriptor: Dict[int, _Watch] = {}
        self._inotify = _open_inotify()
        if self._inotify is not None:
            loop.add_reader(self._inotify, self._read)

    def watch(self, task: Task) -> None:
        if task.uid in self._watches:
            return
        watch = _Watch(task)
        self._watches[task.uid] = watch
        self._look(watch)

    def unwatch(self, uid: str) -> None:
        watch = self._watches.pop(uid, None)
        if watch is not None:
            self._disarm(watch)

    def ended(self, task: Task) -> None:
        """The last word on a log is said even if its size was told before, because it is the last."""
        watch = self._watches.get(task.uid)
        if watch is not None:
            self.unwatch(task.uid)
            self._tell(task.uid, task.log_bytes())

    def _look(self, watch: _Watch) -> None:
        if self._watches.get(watch.task.uid) is not watch:
            return
        if watch.task.over:
            self.ended(watch.task)
            return
        # Armed before the size is read: growth after this line is an event.
        armed = self._arm(watch)
        size = watch.task.log_bytes()
        if size != watch.told:
            watch.told = size
            self._tell(watch.task.uid, size)
        if not armed:
            self._loop.call_later(_POLL_S, lambda: self._look(watch))

    def _arm(self, watch: _Watch) -> bool:
        if self._inotify is None:
            return False
        path = os.fsencode(os.path.join(watch.task.folder, LOG))
        descriptor = _LIBC.inotify_add_watch(self._inotify, path, ctypes.c_uint32(_IN_MODIFY | _IN_ONESHOT))
        if descriptor < 0:
            return False
        watch.descriptor = descriptor
        self._by_descriptor[descriptor] = watch
        return True

    def _disarm(self, watch: _Watch) -> None:
        if self._inotify is not None and self._by_descriptor.pop(watch.descriptor, None) is not None:
            _LIBC.inotify_rm_watch(self._inotify, watch.descriptor)

    def _read(self) -> None:
        assert self._inotify is not None
        data = os.read(self._inotify, 65536)
        position = 0
        while position < len(data):
            descriptor, mask, _, name_bytes = _EVENT.unpack_from(data, position)
            position += _EVENT.size + name_bytes
            watch = self._by_descriptor.pop(descriptor, None) if mask & _IN_MODIFY else None
            if watch is not None:
                self._grown(watch)

    def _grown(self, watch: _Watch) -> None:
        watch.told = watch.task.log_bytes()
        self._tell(watch.task.uid, watch.told)
        self._loop.call_later(_APART_S, lambda: self._look(watch))


def _open_inotify() -> Optional[int]:
    fd: int = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    return fd if fd >= 0 else None
