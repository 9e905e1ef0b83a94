"""Notices when the setup of a task is over and its command runs: the file `state` in the task's folder of the setup."""

from __future__ import annotations

import os
from typing import Callable, Dict, Optional

from muster.agent.system.inotify import MOVED_TO, ONLY_DIRECTORY, Inotify
from muster.agent.system.loop import Loop
from muster.agent.tasks.setup_order import TASKS
from muster.agent.tasks.table import Task

_POLL_S = 1.0


class SetupWatch:
    def __init__(self, loop: Loop, inotify: Inotify, tell: Callable[[Task], None]) -> None:
        self._loop = loop
        self._inotify = inotify
        self._tell = tell
        self._watches: Dict[str, Optional[int]] = {}

    def watch(self, task: Task) -> None:
        """Called when the task has started, which was told before; the setup may be over by now."""
        if task.setup is None or task.uid in self._watches:
            return
        folder = os.path.join(task.setup.entry, TASKS, task.uid)
        number = self._inotify.watch(folder, MOVED_TO | ONLY_DIRECTORY, lambda _, name: self._look(task))
        self._watches[task.uid] = number
        self._look(task)
        if number is None:
            self._poll(task)

    def ended(self, task: Task) -> None:
        number = self._watches.pop(task.uid, None)
        if number is not None:
            self._inotify.unwatch(number)

    def _look(self, task: Task) -> None:
        if task.uid in self._watches and not task.in_setup:
            self.ended(task)
            self._tell(task)

    def _poll(self, task: Task) -> None:
        if task.uid in self._watches:
            self._look(task)
            self._loop.call_later(_POLL_S, lambda: self._poll(task))
