"""Passes a task's log into a pipe: what is there from some place on, and then what comes, until the task has ended.

No more is read than the pipe takes. Bytes that were dropped from the log meanwhile are passed over.
"""

from __future__ import annotations

import os
from typing import Callable

from muster.agent.errors import AgentError
from muster.agent.system.loop import Loop
from muster.agent.tasks.logs import read_log
from muster.agent.tasks.table import Task

_READ_BYTES = 64 * 1024


class LogPassing:
    def __init__(self, loop: Loop, task: Task, offset: int, writing: int, at_end: Callable[[], None]) -> None:
        """`at_end` is called when the task has ended and all of its log was passed on."""
        self._loop = loop
        self._task = task
        self._offset = offset
        self._writing = writing
        self._at_end = at_end
        self._pending = b""
        self._is_watched = False
        self._is_closed = False
        os.set_blocking(writing, False)

    def grown(self) -> None:
        if not self._is_watched:
            self._pass_on()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._unwatch()
        os.close(self._writing)

    def _pass_on(self) -> None:
        while not self._is_closed:
            try:
                while self._pending:
                    self._pending = self._pending[os.write(self._writing, self._pending) :]
            except BlockingIOError:
                if not self._is_watched:
                    self._is_watched = True
                    self._loop.add_writer(self._writing, self._pass_on)
                return
            except OSError:
                self.close()
                return
            self._unwatch()
            if not self._is_more():
                return

    def _is_more(self) -> bool:
        try:
            piece = read_log(self._task, self._offset, _READ_BYTES)
        except (AgentError, OSError):
            self._end()
            return False
        self._pending = bytes(piece["data"])
        self._offset += len(self._pending)
        if self._pending:
            return True
        dropped = piece["dropped"]
        if dropped is not None and dropped.start <= self._offset < dropped.end:
            self._offset = dropped.end
            return True
        if piece["ended"]:
            self._end()
        return False

    def _end(self) -> None:
        self.close()
        self._at_end()

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove(self._writing)
