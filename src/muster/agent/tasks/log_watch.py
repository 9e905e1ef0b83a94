"""Tells when logs grow. Noticed by inotify; where there is none, by looking ten times a second.

A watch is armed for one event only. While a log grows it is looked at every 40 ms, and armed anew when it does not, so
a task that writes a million lines costs the agent 25 wake-ups a second and not a million.
"""

from __future__ import annotations

import os
from typing import Callable, Dict, Optional

from muster.agent.system.inotify import MODIFY, ONE_SHOT, Inotify
from muster.agent.system.loop import Loop
from muster.agent.tasks.logged import LoggedTask
from muster.agent.tasks.task_folder import LOG

_APART_S = 0.04
_POLL_S = 0.1


class _Watch:
    def __init__(self, task: LoggedTask) -> None:
        self.task = task
        self.told = -1
        self.is_known = False  # its first size has been told
        self.number: Optional[int] = None


class LogWatching:
    def __init__(self, loop: Loop, inotify: Inotify, tell: Callable[[str, int], None]) -> None:
        self._loop = loop
        self._inotify = inotify
        self._tell = tell
        self._watches: Dict[str, _Watch] = {}

    def watch(self, task: LoggedTask) -> None:
        if task.uid in self._watches:
            return
        watch = _Watch(task)
        self._watches[task.uid] = watch
        self._look(watch)

    def unwatch(self, uid: str) -> None:
        watch = self._watches.pop(uid, None)
        if watch is not None:
            self._disarm(watch)

    def ended(self, task: LoggedTask) -> None:
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
        is_growing = self._tell_growth(watch)
        if is_growing and watch.is_known:
            self._loop.call_later(_APART_S, lambda: self._look(watch))
            return
        watch.is_known = True
        armed = self._arm(watch)
        # What was written before it was armed is no event.
        if self._tell_growth(watch):
            self._disarm(watch)
            self._loop.call_later(_APART_S, lambda: self._look(watch))
        elif not armed:
            self._loop.call_later(_POLL_S, lambda: self._look(watch))

    def _tell_growth(self, watch: _Watch) -> bool:
        size = watch.task.log_bytes()
        if size == watch.told:
            return False
        watch.told = size
        self._tell(watch.task.uid, size)
        return True

    def _arm(self, watch: _Watch) -> bool:
        if watch.task.is_remote:
            return False
        path = os.path.join(watch.task.folder, LOG)
        watch.number = self._inotify.watch(path, MODIFY | ONE_SHOT, lambda mask, _: self._grown(watch, mask))
        return watch.number is not None

    def _disarm(self, watch: _Watch) -> None:
        if watch.number is not None:
            self._inotify.unwatch(watch.number)
            watch.number = None

    def _grown(self, watch: _Watch, mask: int) -> None:
        if not mask & MODIFY or self._watches.get(watch.task.uid) is not watch:
            return
        watch.told = watch.task.log_bytes()
        self._tell(watch.task.uid, watch.told)
        self._loop.call_later(_APART_S, lambda: self._look(watch))
