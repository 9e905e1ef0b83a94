"""Notices when a task says that its work is safe, by the time of the file `checkpoint` in its folder, or where it can
be followed, by the content of the file `tracking-url`, or reports metrics in the file `metrics`.

The folder of every running task is watched. A task that says it all the time is told on at once, then every few
seconds.
"""

from __future__ import annotations

import time
from typing import Callable, Dict, Optional, Tuple

from muster.agent.system.inotify import ATTRIB, CLOSE_WRITE, MOVED_TO, ONLY_DIRECTORY, Inotify
from muster.agent.system.loop import Loop
from muster.agent.tasks.metric_file import metrics_bytes
from muster.agent.tasks.table import Task
from muster.agent.tasks.task_folder import CHECKPOINT, METRICS, TRACKING

_APART_S = 2.0
_POLL_S = 1.0
_EVENTS = ATTRIB | CLOSE_WRITE | MOVED_TO | ONLY_DIRECTORY
_NAMES = tuple(name.encode("ascii") for name in (CHECKPOINT, TRACKING, METRICS))


class _Watch:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.number: Optional[int] = None
        self.told: Tuple[Optional[float], str, int] = (None, "", 0)
        self.quiet_until = 0.0
        self.is_due = False


class Checkpoints:
    def __init__(self, loop: Loop, inotify: Inotify, tell: Callable[[Task], None]) -> None:
        self._loop = loop
        self._inotify = inotify
        self._tell = tell
        self._watches: Dict[str, _Watch] = {}

    def watch(self, task: Task) -> None:
        if task.uid in self._watches:
            return
        # Watched before the file is looked at: what comes after is an event.
        watch = _Watch(task)
        watch.number = self._inotify.watch(task.folder, _EVENTS, lambda _, name: self._touched(watch, name))
        self._watches[task.uid] = watch
        if watch.number is None:
            self._poll(watch)
        else:
            self._look(watch)

    def ended(self, task: Task) -> None:
        watch = self._watches.pop(task.uid, None)
        if watch is not None and watch.number is not None:
            self._inotify.unwatch(watch.number)

    def _touched(self, watch: _Watch, name: bytes) -> None:
        if name in _NAMES:
            self._look(watch)

    def _look(self, watch: _Watch) -> None:
        """Tell what is new, or a little later when something was told just now."""
        now = time.monotonic()
        if now < watch.quiet_until:
            self._look_later(watch, watch.quiet_until - now)
            return
        found = (watch.task.checkpoint_at(), watch.task.tracking_url(), metrics_bytes(watch.task.folder))
        if found != watch.told:
            watch.told = found
            watch.quiet_until = now + _APART_S
            self._tell(watch.task)
            # What a task writes right after this is no event of its own: see `metric_writer`.
            self._look_later(watch, _APART_S)

    def _look_later(self, watch: _Watch, delay_s: float) -> None:
        if not watch.is_due:
            watch.is_due = True
            self._loop.call_later(delay_s, lambda: self._due(watch))

    def _due(self, watch: _Watch) -> None:
        watch.is_due = False
        if watch.task.uid in self._watches:
            self._look(watch)

    def _poll(self, watch: _Watch) -> None:
        if self._watches.get(watch.task.uid) is watch:
            self._look(watch)
            self._loop.call_later(_POLL_S, lambda: self._poll(watch))
