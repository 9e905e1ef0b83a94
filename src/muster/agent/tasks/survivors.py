"""Waits for the processes of a stopped task that outlive its command.

The command is often a shell line. On the group's SIGTERM that shell dies at once, while the program below is still
saving its work. The grace of a stop is that program's too: only when nothing of the task lives any more, or when the
grace has ended and the rest was killed, is the task over.
"""

from __future__ import annotations

from typing import Callable, List, Optional

from muster.agent.system.process_exits import ExitWatch
from muster.agent.system.processes import Identity, find_members, read_stat
from muster.agent.tasks.table import Task

Gone = Callable[[], None]


class Lingering:
    def __init__(self, exits: ExitWatch, current_boot: str) -> None:
        self._exits = exits
        self._boot = current_boot

    def after(self, task: Task, gone: Gone) -> None:
        """Call `gone` once nothing of the task lives; at once, if that is so already."""
        for identity in self._members(task):
            # One at a time is enough: whoever is left when it has gone is looked for again.
            if self._exits.adopted(identity, lambda: self.after(task, gone)):
                return
        gone()

    def _members(self, task: Task) -> List[Identity]:
        pids = find_members([task.target], self._boot).get(task.uid, [])
        found = [self._identity(pid) for pid in pids]
        return [identity for identity in found if identity is not None]

    def _identity(self, pid: int) -> Optional[Identity]:
        stat = read_stat(pid)
        return None if stat is None or stat.dead else Identity(pid, stat.start_ticks, self._boot)
