"""Long work in short steps, so that four threads serve everybody: a walk through a large tree goes on for a moment,
answers how far it is, and waits for the next request. Work that nobody asks for any more is dropped.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Generator

from muster.agent.errors import AgentError
from muster.agent.files.file_errors import BUSY

STEP_S = 1.0
_FORGOTTEN_AFTER_S = 120.0
_AT_ONCE = 16
_AT_ONCE_PER_USER = 4

Answer = Dict[str, Any]
Work = Generator[Answer, None, None]
"""It yields often, each time with how far it is. What it yields last is the result."""


class _Run:
    def __init__(self, work: Work, user: str) -> None:
        self.work = work
        self.user = user
        self.last: Answer = {}
        self.is_running = True
        self.left_at = 0.0


class Runs:
    def __init__(self, clock: Callable[[], float] = time.monotonic, step_s: float = STEP_S) -> None:
        self._clock = clock
        self._step_s = step_s
        self._runs: Dict[str, _Run] = {}
        self._turn = threading.Lock()

    def step(self, key: str, begin: Callable[[], Work], user: str = "") -> Answer:
        """Go on with the work that has this key, or begin it. `user` is empty for the server itself and for admins, who
        have no share of their own."""
        run = self._take(key, begin, user)
        until = self._clock() + self._step_s
        is_done = False
        try:
            for progress in run.work:
                run.last = progress
                if self._clock() >= until:
                    return {**progress, "done": False}
            is_done = True
            return {**run.last, "done": True}
        except BaseException:
            is_done = True
            raise
        finally:
            self._leave(key, run, is_done)

    def _take(self, key: str, begin: Callable[[], Work], user: str) -> _Run:
        with self._turn:
            self._drop_forgotten()
            run = self._runs.get(key)
            if run is not None and run.is_running:
                raise AgentError(BUSY, "this operation is running already")
            if run is None:
                if len(self._runs) >= _AT_ONCE:
                    raise AgentError(BUSY, "too many long operations are under way on this node; try again later")
                if user and sum(other.user == user for other in self._runs.values()) >= _AT_ONCE_PER_USER:
                    message = "{} long operations of yours are under way on this node; try again when one has ended"
                    raise AgentError(BUSY, message.format(_AT_ONCE_PER_USER))
                run = self._runs[key] = _Run(begin(), user)
            run.is_running = True
            return run

    def _leave(self, key: str, run: _Run, is_done: bool) -> None:
        with self._turn:
            run.is_running = False
            run.left_at = self._clock()
            if is_done:
                self._runs.pop(key, None)

    def _drop_forgotten(self) -> None:
        now = self._clock()
        for key, run in list(self._runs.items()):
            if not run.is_running and now - run.left_at > _FORGOTTEN_AFTER_S:
                del self._runs[key]
                run.work.close()
