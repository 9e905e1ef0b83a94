"""Takes up the tasks that an earlier agent left: live ones are watched again, ended ones are known again."""

from __future__ import annotations

import os
from typing import Sequence

from muster.agent.system import disk
from muster.agent.system.loop import Loop
from muster.agent.tasks import records, setup_order, task_folder, task_secrets
from muster.agent.tasks.stopping import Stopping
from muster.agent.tasks.table import PREPARING, Task, TaskBook
from muster.agent.tasks.task_exit import Settling
from muster.agent.tasks.task_scripts import remembered

# What an earlier agent ordered in its last moment may be claimed and started after we have looked.
_LOOK_AGAIN_S = (0.2, 1.0, 5.0)


class Adopting:
    def __init__(self, loop: Loop, book: TaskBook, settling: Settling, stopping: Stopping) -> None:
        self._loop = loop
        self._book = book
        self._settling = settling
        self._stopping = stopping

    def adopt_all(self, tasks_folder: str) -> None:
        for name in sorted(os.listdir(tasks_folder)):
            folder = os.path.join(tasks_folder, name)
            if os.path.isdir(folder) and not os.path.islink(folder):
                self._adopt(name, folder)

    def _adopt(self, uid: str, folder: str) -> None:
        facts = disk.read_json(os.path.join(folder, task_folder.FACTS)) or {}
        ports, groups, digests = (tuple(facts.get(key, ())) for key in ("ports", "groups", "digests"))
        task = Task(uid, folder, ports, groups, digests, facts.get("log_bytes"), facts.get("account"))
        task.masks = task_secrets.masks_of(folder)
        task.scripts = remembered(facts.get("scripts"))
        task.setup = setup_order.remembered(facts.get("setup"))
        self._book.add(task)
        self._stopping.resume(task)
        self._settling.resume(task)
        self._look_again(task, _LOOK_AGAIN_S)

    def refused(self, task: Task) -> None:
        """Our own shim was: somebody before us has claimed the task."""
        if task.phase != PREPARING:
            return  # a shim that was killed since had started it
        task.under_way = False
        self._settling.resume(task)
        self._look_again(task, _LOOK_AGAIN_S)

    def _look_again(self, task: Task, delays: Sequence[float]) -> None:
        if task.phase != PREPARING or task.under_way:
            return
        if not delays:
            if records.is_claimed(task.folder):
                self._settling.give_up(task)
            return

        def look() -> None:
            if task.phase == PREPARING and not task.under_way:
                self._settling.resume(task)
                self._look_again(task, delays[1:])

        self._loop.call_later(delays[0], look)
