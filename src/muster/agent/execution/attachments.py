"""Attachments to tasks whose standard input stays open: input goes to the process that holds it, and output comes from
the task's log. Any number of people may be attached to a task. All of them see everything, and input is taken from
each. An attachment ends with the connection to the server or with the task, which it never ends itself.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from typing import Any, Dict, List, Mapping, Optional

from muster.agent import requests
from muster.agent.errors import NOT_RUNNING, START_FAILED, AgentError
from muster.agent.execution.executions import CommandInput, Execution, Executions
from muster.agent.execution.log_passing import LogPassing
from muster.agent.execution.task_commands import Terminal, requested_terminal
from muster.agent.interaction import asking
from muster.agent.system import disk, terminals
from muster.agent.system.inotify import Inotify
from muster.agent.system.loop import Loop
from muster.agent.tasks import logs, task_folder
from muster.agent.tasks.log_watch import LogWatching
from muster.agent.tasks.table import RUNNING, Task, TaskBook

_CTRL_D = b"\x04"
_UNKNOWN_END = 255
_MOST_LINES = 100_000


class _Attachment:
    def __init__(self, execution: Execution, passing: LogPassing) -> None:
        self.execution = execution
        self.passing = passing
        self.terminal: Optional[int] = None

    def finish(self, exit_code: int) -> None:
        self.passing.close()
        self.execution.resize = None
        if self.terminal is not None:
            os.close(self.terminal)
        self.execution.finish(exit_code)


class Attachments:
    def __init__(self, loop: Loop, executions: Executions, book: TaskBook) -> None:
        self._loop = loop
        self._executions = executions
        self._book = book
        self._of_tasks: Dict[str, List[_Attachment]] = {}
        self._watching: Optional[LogWatching] = None

    def start(self, request: Mapping[str, Any]) -> None:
        """It is answered when the holder has given us the input."""
        task = self._book.require(requests.task_id(request))
        terminal = requested_terminal(request.get("terminal"))
        lines = None if request.get("tail") is None else requests.whole_number(request, "tail", 0, _MOST_LINES)
        facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
        if not facts.get("stdin"):
            raise AgentError(START_FAILED, "the task was started without standard input")
        if task.over or task.phase != RUNNING:
            raise AgentError(NOT_RUNNING, "the task is not running on this node")
        self._executions.require_room()

        def asked(done: Future[Optional[int]]) -> None:
            attachment = self._attached(task, lines)
            held = done.result()
            if held is not None and facts.get("tty"):
                _connect_terminal(self._loop, attachment, held, terminal)
            elif held is not None:
                attachment.execution.input = CommandInput(self._loop, held, on_end=lambda: self._end_input(task))
            self._executions.answer(request["id"], {"exec": self._executions.add(attachment.execution)})

        self._loop.run_blocking(lambda: asking.held_input(task.folder, task_folder.ATTACH), asked)

    def ended(self, task: Task) -> None:
        """The rest of the log is passed on, and then the attachments end."""
        for attachment in list(self._of_tasks.get(task.uid, ())):
            attachment.passing.grown()

    def _attached(self, task: Task, lines: Optional[int]) -> _Attachment:
        reading, writing = os.pipe()
        offset = 0 if lines is None else logs.tail_offset(task, lines)
        execution = Execution(self._loop, task.pid or 0, {reading: "stdout"}, lambda: self._leave(task, attachment))
        passing = LogPassing(self._loop, task, offset, writing, lambda: self._finish(task, attachment))
        attachment = _Attachment(execution, passing)
        self._of_tasks.setdefault(task.uid, []).append(attachment)
        self._watch(task)
        # In the next round of the loop, because a task that has ended meanwhile ends the attachment.
        self._loop.call_later(0.0, passing.grown)
        return attachment

    def _end_input(self, task: Task) -> None:
        """For all, because the end of a pipe is seen only when nobody can write into it any more."""
        for attachment in self._of_tasks.get(task.uid, ()):
            if attachment.execution.input is not None:
                attachment.execution.input.close()
        self._loop.run_blocking(lambda: asking.end_input(task.folder, task_folder.ATTACH), lambda done: None)

    def _watch(self, task: Task) -> None:
        if self._watching is None:
            self._watching = LogWatching(self._loop, Inotify(self._loop.add_reader), self._grown)
        self._watching.watch(task)

    def _grown(self, uid: str, size: int) -> None:
        for attachment in list(self._of_tasks.get(uid, ())):
            attachment.passing.grown()

    def _leave(self, task: Task, attachment: _Attachment) -> None:
        self._forget(task, attachment)
        attachment.finish(0)

    def _finish(self, task: Task, attachment: _Attachment) -> None:
        self._forget(task, attachment)
        attachment.finish(_UNKNOWN_END if task.exit_code is None else task.exit_code)

    def _forget(self, task: Task, attachment: _Attachment) -> None:
        left = [one for one in self._of_tasks.get(task.uid, ()) if one is not attachment]
        if left:
            self._of_tasks[task.uid] = left
            return
        self._of_tasks.pop(task.uid, None)
        if self._watching is not None:
            self._watching.unwatch(task.uid)


def _connect_terminal(loop: Loop, attachment: _Attachment, held: int, terminal: Optional[Terminal]) -> None:
    attachment.terminal = held
    attachment.execution.input = CommandInput(loop, os.dup(held), _CTRL_D)
    if terminal is None:
        return
    attachment.execution.resize = lambda rows, columns: _resize(held, rows, columns)
    if terminals.size_of(held) == (terminal.rows, terminal.columns):
        # A program draws its screen anew when the size changes, which somebody who has just come needs.
        _resize(held, terminal.rows, terminal.columns + 1)
    _resize(held, terminal.rows, terminal.columns)


def _resize(terminal: int, rows: int, columns: int) -> None:
    try:
        terminals.set_size(terminal, rows, columns)
    except OSError:
        pass  # the task has ended, and its terminal with it
