"""Pushes usage samples at the interval that the server asked for: never two at once, and none to a server that lags."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Callable, Dict, Optional

from muster.agent.diagnostics import Diagnostics
from muster.agent.node.container_usage import Container
from muster.agent.node.usage import Sampler
from muster.agent.system.loop import Loop, Timer
from muster.agent.tasks.table import RUNNING, TaskBook


class Metering:
    def __init__(
        self,
        loop: Loop,
        book: TaskBook,
        containers: Callable[[], Dict[str, Container]],
        tell: Callable[[Dict[str, Any]], None],
        diagnostics: Diagnostics,
    ) -> None:
        self._loop = loop
        self._book = book
        self._containers = containers
        self._tell = tell
        self._diagnostics = diagnostics
        self._every_s = 0.0
        self._timer: Optional[Timer] = None
        self._sampling = False

    def set_interval(self, sampler: Sampler, every_s: float) -> None:
        """Sample every `every_s` seconds, beginning one interval from now; 0 stops it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._every_s = every_s
        self._schedule(sampler)

    def _schedule(self, sampler: Sampler) -> None:
        if self._every_s > 0:
            self._timer = self._loop.call_later(self._every_s, lambda: self._tick(sampler))

    def _tick(self, sampler: Sampler) -> None:
        self._schedule(sampler)
        if self._sampling:
            return
        self._sampling = True
        running = {task.pid: task.uid for task in self._book if task.phase == RUNNING and task.pid is not None}
        containers = self._containers()
        self._loop.run_blocking(lambda: sampler.sample(running, containers), self._sampled)

    def _sampled(self, future: Future[Dict[str, Any]]) -> None:
        self._sampling = False
        error = future.exception()
        if error is not None:
            self._diagnostics.crash("cannot sample usage", error)
        elif self._every_s > 0:
            self._tell(future.result())
