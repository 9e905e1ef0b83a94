"""Connections to ports on which a running task listens, for people who reach them through the server.

Only the task's own ports can be reached: all sockets that listen on the port must belong to processes of the task, both
before and after the connection was made. Otherwise somebody could reach what other people run on the same node. No more
is taken from a connection than its reader has room for. Connections end with the link to the server, and with the task.
"""

from __future__ import annotations

import os
import socket
from concurrent.futures import Future
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence

from muster.agent import requests
from muster.agent.errors import BAD_REQUEST, NOT_LISTENING, NOT_RUNNING, START_FAILED, AgentError, from_os_error
from muster.agent.execution import own_processes
from muster.agent.execution.executions import MOST_INPUT_BYTES, CommandInput
from muster.agent.execution.listeners import listeners, own_addresses, reached, sockets_of, tables
from muster.agent.execution.task_commands import TaskCommands
from muster.agent.system import disk
from muster.agent.system.loop import Loop, Timer
from muster.agent.system.process_exits import ExitWatch
from muster.agent.system.processes import Identity, is_alive
from muster.agent.tasks import task_folder, task_helper
from muster.agent.tasks.table import RUNNING, Task, TaskBook

_MOST_CONNECTIONS = 512
_HELD_BYTES = 256 * 1024
_ANSWER_WITHIN_S = 20.0
_CONNECT_WITHIN_S = 5.0

Answer = Dict[str, Any]
Answering = Callable[[int, Answer], None]
Refusing = Callable[[int, AgentError], None]


class _Connection:
    """One open connection: what came and was not asked for yet, and the reader that waits for more."""

    def __init__(self, loop: Loop, connected: socket.socket) -> None:
        self._loop = loop
        self._socket = connected
        self._held = b""
        self._has_ended = False
        self._is_watched = False
        self._is_closed = False
        self._reader: Optional[Callable[[Answer], None]] = None
        self._timer: Optional[Timer] = None
        connected.setblocking(False)
        self.input = CommandInput(loop, os.dup(connected.fileno()), on_end=self._end_input)
        self._watch()

    def read(self, answered: Callable[[Answer], None]) -> None:
        """An earlier reader gets no further answer."""
        self._answer()
        self._reader = answered
        self._timer = self._loop.call_later(_ANSWER_WITHIN_S, self._answer)
        self._tell()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = self._has_ended = True
        self._watch()
        self.input.close()
        self._socket.close()
        self._tell()

    def _end_input(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side has gone already

    def _watch(self) -> None:
        wanted = len(self._held) < _HELD_BYTES and not self._has_ended
        if wanted and not self._is_watched:
            self._loop.add_reader(self._socket.fileno(), self._receive)
        elif self._is_watched and not wanted:
            self._loop.remove(self._socket.fileno())
        self._is_watched = wanted

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_HELD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._held += data
        self._has_ended = not data
        self._watch()
        self._tell()

    def _tell(self) -> None:
        if self._held or self._has_ended:
            self._answer()

    def _answer(self) -> None:
        reader, self._reader = self._reader, None
        if self._timer is not None:
            self._timer.cancel()
        if reader is None:
            return
        data, self._held = self._held, b""
        self._watch()
        reader({"data": data, "ended": self._has_ended})


class Connections:
    """All connections to tasks, by name, and the requests about them."""

    def __init__(
        self,
        loop: Loop,
        exits: ExitWatch,
        book: TaskBook,
        commands: TaskCommands,
        current_boot: str,
        answer: Answering,
        refuse: Refusing,
    ) -> None:
        self._loop = loop
        self._exits = exits
        self._book = book
        self._commands = commands
        self._boot = current_boot
        self._answered = answer
        self._refused = refuse
        self._open: Dict[str, _Connection] = {}
        self._connecting = 0
        self._count = 0
        self._generation = 0
        self._of_tasks: Dict[str, List[str]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._open and not self._connecting

    def connect(self, request: Mapping[str, Any]) -> None:
        """The answer has the name of the connection."""
        number = request["id"]
        task = self._book.require(requests.task_id(request))
        port = requests.whole_number(request, "port", 1, 65_535)
        self._require_reachable(task)
        if len(self._open) + self._connecting >= _MOST_CONNECTIONS:
            raise AgentError(START_FAILED, "{} connections are open here already".format(_MOST_CONNECTIONS))
        self._connecting += 1
        generation = self._generation

        def done(connecting: Future[socket.socket]) -> None:
            self._connecting -= 1
            error = connecting.exception()
            if isinstance(error, AgentError):
                self._refused(number, error)
            elif isinstance(error, OSError):
                self._refused(number, from_os_error(error))
            elif error is not None:
                raise error
            elif generation != self._generation:
                connecting.result().close()
            else:
                self._answered(number, {"connection": self._add(task, connecting.result())})

        commands = self._commands.running_in(task)
        self._loop.run_blocking(lambda: _connected(task, port, self._boot, commands), done)

    def read(self, request: Mapping[str, Any]) -> None:
        """The answer comes when there is data or the other side has ended, at the latest after a while."""
        number = request["id"]
        self._required(request).read(lambda answer: self._answered(number, answer))

    def write(self, request: Mapping[str, Any]) -> None:
        """Does what `exec_write` does: it is answered when all was taken, at the latest after a while."""
        number, connection = request["id"], self._required(request)
        data, is_last = requests.data(request, MOST_INPUT_BYTES), bool(request.get("last"))
        timer = self._loop.call_later(_ANSWER_WITHIN_S, connection.input.tell_waiting)

        def answered(taken: bool) -> None:
            timer.cancel()
            self._answered(number, {"taken": taken})

        connection.input.send(data, is_last, answered)

    def close(self, request: Mapping[str, Any]) -> Answer:
        """Closing a connection that is gone is no error."""
        name = requests.text(request, "connection")
        self._close(name)
        for names in self._of_tasks.values():
            if name in names:
                names.remove(name)
        return {}

    def close_all(self) -> None:
        """Closes all connections, also those that are being made now."""
        self._generation += 1
        for name in list(self._open):
            self._close(name)

    def _add(self, task: Task, connected: socket.socket) -> str:
        self._count += 1
        name = "connection-{}".format(self._count)
        self._open[name] = _Connection(self._loop, connected)
        self._end_with(task, name)
        return name

    def _end_with(self, task: Task, name: str) -> None:
        """One watch serves all connections to a task."""
        if task.uid in self._of_tasks:
            self._of_tasks[task.uid].append(name)
            return
        self._of_tasks[task.uid] = [name]

        def gone() -> None:
            for one in self._of_tasks.pop(task.uid, []):
                if one in self._open:
                    self._open[one].close()

        assert task.identity is not None
        if not self._exits.adopted(task.identity, gone):
            gone()

    def _require_reachable(self, task: Task) -> None:
        if task.over or task.phase != RUNNING or task.identity is None or not is_alive(task.identity, self._boot):
            raise AgentError(NOT_RUNNING, "the task is not running on this node")
        facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
        if facts.get(task_helper.FACT):
            why = "the agent of this node is not root, and cannot see which ports belong to the task"
            raise AgentError(START_FAILED, why)

    def _close(self, name: str) -> None:
        connection = self._open.pop(name, None)
        if connection is not None:
            connection.close()

    def _required(self, request: Mapping[str, Any]) -> _Connection:
        name = requests.text(request, "connection")
        connection = self._open.get(name)
        if connection is None:
            raise AgentError(BAD_REQUEST, "there is no connection {!r} here".format(name))
        return connection


def _connected(task: Task, port: int, current_boot: str, commands: Sequence[Identity]) -> socket.socket:
    """Sockets that listen before and after are those that were reached: their numbers are not used twice."""
    for address in own_addresses():
        found = _reachable(port, address)
        if not found or not _is_of_task(found, task, current_boot, commands):
            continue
        try:
            connected = socket.create_connection((address, port), _CONNECT_WITHIN_S)
        except ConnectionRefusedError:
            continue
        if _reachable(port, address) == found:
            return connected
        connected.close()
    raise AgentError(NOT_LISTENING, "nothing of the task listens on port {}".format(port))


def _reachable(port: int, address: str) -> FrozenSet[int]:
    """The numbers of all sockets that a connection to this address may reach."""
    return frozenset(one.inode for one in reached(listeners(port, tables()), address))


def _is_of_task(found: FrozenSet[int], task: Task, current_boot: str, commands: Sequence[Identity]) -> bool:
    """Looking at all processes is slow, and needed only for those outside the task's group, such as in containers."""
    grouped = sockets_of(own_processes.in_groups(task))
    return found <= grouped or found <= grouped | sockets_of(own_processes.others(task, current_boot, commands))
