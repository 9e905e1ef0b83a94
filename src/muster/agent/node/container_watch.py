"""Finds the containers of running tasks, and reads their counters when their first process has ended.

At that moment all processes of a container are gone, and its control group is not yet: the engine removes it a little
later. If the engine was faster, the samples until then are what is known. Nobody waits for any of this.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Callable, Dict, Optional

from muster.agent.node.container_usage import Container, find_container
from muster.agent.system.group_counters import GroupCounts, counted
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch
from muster.agent.tasks.containers import is_contained
from muster.agent.tasks.table import Task

_LOOK_AFTER_S = 0.2
_LATER_BY = 1.25
_LOOK_AT_LEAST_EVERY_S = 2.0


class ContainerWatch:
    def __init__(
        self, loop: Loop, exits: ExitWatch, current_boot: str, tell: Callable[[Task, GroupCounts], None]
    ) -> None:
        self._loop = loop
        self._exits = exits
        self._boot = current_boot
        self._tell = tell
        self._found: Dict[str, Container] = {}

    def running(self, task: Task) -> None:
        if is_contained(task):
            self._look_later(task, _LOOK_AFTER_S)

    def ended(self, task: Task) -> None:
        """The task has ended; its container may have outlived the engine's client."""
        self._read(task)

    def containers(self) -> Dict[str, Container]:
        """Those that run now, by task."""
        return dict(self._found)

    def _look_later(self, task: Task, after_s: float) -> None:
        """An engine may be bringing a large image first."""
        self._loop.call_later(after_s, lambda: self._look(task, after_s))

    def _look(self, task: Task, after_s: float) -> None:
        def looked(done: Future[Optional[Container]]) -> None:
            if task.over:
                return
            container = None if done.exception() is not None else done.result()
            if container is not None and self._exits.adopted(container.first, lambda: self._read(task)):
                self._found[task.uid] = container
            else:
                self._look_later(task, min(after_s * _LATER_BY, _LOOK_AT_LEAST_EVERY_S))

        if not task.over:
            self._loop.run_blocking(lambda: find_container(task.target, self._boot), looked)

    def _read(self, task: Task) -> None:
        container = self._found.pop(task.uid, None)
        if container is not None and container.groups:
            self._tell(task, counted(container.groups))
