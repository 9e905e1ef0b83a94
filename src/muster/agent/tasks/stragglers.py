"""Kills what ended tasks leave behind: processes that left the group or the session, or forgot their parent.

One sweep over /proc serves all tasks that ended since the last, at most every half second; never one per task.
"""

from __future__ import annotations

import time
from typing import Dict

from muster.agent.system.loop import Loop
from muster.agent.system.processes import find_members, kill_all
from muster.agent.tasks import cgroups
from muster.agent.tasks.table import Task

_EVERY_S = 0.5
_SOON_S = 0.05
_SWEEPS_WHILE_FOUND = 20


class Stragglers:
    def __init__(self, loop: Loop, current_boot: str) -> None:
        self._loop = loop
        self._boot = current_boot
        self._waiting: Dict[str, Task] = {}
        self._tries: Dict[str, int] = {}
        self._scheduled = False
        self._last = 0.0

    def after(self, task: Task) -> None:
        self._waiting[task.uid] = task
        self._tries[task.uid] = _SWEEPS_WHILE_FOUND
        self._schedule()

    def _schedule(self) -> None:
        if self._scheduled:
            return
        self._scheduled = True
        delay = max(_SOON_S, self._last + _EVERY_S - time.monotonic())
        self._loop.call_later(delay, self._sweep)

    def _sweep(self) -> None:
        self._scheduled = False
        self._last = time.monotonic()
        found = find_members([task.target for task in self._waiting.values()], self._boot)
        for task in list(self._waiting.values()):
            pids = found.get(task.uid, [])
            kill_all(pids)
            cgroups.kill(task.groups)
            if cgroups.remove(task.groups) and not pids:
                self._done(task)
            else:
                self._try_again(task)
        if self._waiting:
            self._schedule()

    def _try_again(self, task: Task) -> None:
        """One that was found may have forked just before it died, so look once more; but not for ever."""
        self._tries[task.uid] -= 1
        if self._tries[task.uid] <= 0:
            self._done(task)

    def _done(self, task: Task) -> None:
        del self._waiting[task.uid], self._tries[task.uid]
