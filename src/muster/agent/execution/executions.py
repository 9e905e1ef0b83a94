"""Running commands: output that is held until it is asked for, input that is taken as the command reads it, and ends.

No more is taken from a command than a reader has room for. A command ends with the connection to the server.
"""

from __future__ import annotations

import base64
import errno
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from muster.agent import requests
from muster.agent.errors import BAD_REQUEST, START_FAILED, AgentError
from muster.agent.system.loop import Loop, Timer

_MAX_COMMANDS = 64
_HELD_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024
_LAST_READS = 16  # more than a pipe holds: a process that escaped and writes for ever must not hold up the agent
_ANSWER_WITHIN_S = 20.0
MOST_INPUT_BYTES = 1 << 20

Answer = Dict[str, Any]


class CommandInput:
    """What the command has not read yet. The sender is answered when all that it sent has been taken."""

    def __init__(self, loop: Loop, fd: int, at_end: bytes = b"", on_end: Callable[[], None] = lambda: None) -> None:
        """`at_end` is what a terminal gets in place of the end of a pipe. `on_end` is called when all was written and
        no more will come."""
        self._loop = loop
        self._fd: Optional[int] = fd
        self._at_end = at_end
        self._on_end = on_end
        self._pending = b""
        self._is_watched = False
        self._is_ending = False
        self._answered: Optional[Callable[[bool], None]] = None
        os.set_blocking(fd, False)

    def send(self, data: bytes, is_last: bool, answered: Callable[[bool], None]) -> None:
        """`answered` is called with whether all was taken."""
        if self._answered is not None or (data and self._pending):
            raise AgentError(BAD_REQUEST, "the input that was sent before has not been taken yet")
        if self._fd is None or (self._is_ending and not self._pending):
            answered(True)
            return
        self._pending += data + (self._at_end if is_last else b"")
        self._is_ending, self._answered = self._is_ending or is_last, answered
        self._write()

    def tell_waiting(self) -> None:
        """The sender need not wait for longer: it may ask again."""
        self._answer(self._pending == b"")

    def close(self) -> None:
        """Nobody reads any more. What was not taken is dropped."""
        self._pending = b""
        self._unwatch()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._answer(True)

    def _write(self) -> None:
        assert self._fd is not None
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._fd, self._pending[:_READ_BYTES]) :]
        except BlockingIOError:
            if not self._is_watched:
                self._loop.add_writer(self._fd, self._write)
                self._is_watched = True
            return
        except OSError:  # the command has closed its input
            self.close()
            return
        self._unwatch()
        if self._is_ending and not self._at_end:
            self._on_end()
            self.close()
        self._answer(True)

    def _unwatch(self) -> None:
        if self._is_watched and self._fd is not None:
            self._loop.remove(self._fd)
        self._is_watched = False

    def _answer(self, is_taken: bool) -> None:
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(is_taken)


class Execution:
    """One running command, its unread output, and the reader that waits for more."""

    def __init__(self, loop: Loop, pid: int, outputs: Mapping[int, str], end: Callable[[], None]) -> None:
        """`outputs` are the descriptors of its output by the names of the streams; they are closed at its end. `end`
        kills the command."""
        self.pid = pid
        self.exit_code: Optional[int] = None
        self.timed_out = False
        self.task_ended = False
        self.input: Optional[CommandInput] = None
        self.reader: Optional[Callable[[Answer], None]] = None
        self.timer: Optional[Timer] = None
        self.deadline: Optional[Timer] = None
        self.resize: Optional[Callable[[int, int], None]] = None
        self._end = end
        self._loop = loop
        self._pieces: List[Tuple[str, bytes]] = []
        self._held = 0
        self._open: Dict[int, str] = {}
        self._descriptors: List[int] = []
        self._watched: List[int] = []
        self.add_outputs(outputs)

    @property
    def ended(self) -> bool:
        return self.exit_code is not None

    @property
    def is_read_out(self) -> bool:
        return self.ended and not self._pieces

    def add_outputs(self, outputs: Mapping[int, str]) -> None:
        for fd in outputs:
            os.set_blocking(fd, False)
        self._descriptors += outputs
        self._open.update(outputs)
        self.watch()

    def end(self) -> None:
        if not self.ended:
            self._end()

    def watch(self) -> None:
        """Take more of its output, if there is room for it."""
        wanted = list(self._open) if self._held < _HELD_BYTES and not self.ended else []
        for fd in [fd for fd in self._watched if fd not in wanted]:
            self._loop.remove(fd)
            self._watched.remove(fd)
        for fd in [fd for fd in wanted if fd not in self._watched]:
            self._loop.add_reader(fd, lambda fd=fd: self._read(fd))  # type: ignore[misc]
            self._watched.append(fd)

    def finish(self, exit_code: int) -> None:
        """The command has ended. What is still in the pipes is taken."""
        if self.deadline is not None:
            self.deadline.cancel()
        if self.input is not None:
            self.input.close()
        for fd in list(self._open):
            for _ in range(_LAST_READS):
                if fd not in self._open or not self._take(fd):
                    break
        self.exit_code = exit_code
        self.watch()
        for fd in self._descriptors:
            os.close(fd)
        self._open.clear()
        self.tell()

    def tell(self) -> None:
        """Answer the reader that waits, if there is something to answer."""
        if self.reader is None or not (self._pieces or self.ended):
            return
        self.answer_now()

    def answer_now(self) -> None:
        reader, self.reader = self.reader, None
        if self.timer is not None:
            self.timer.cancel()
        if reader is None:
            return
        taken = self._pieces[: _HELD_BYTES // _READ_BYTES]
        self._pieces = self._pieces[len(taken) :]
        self._held -= sum(len(data) for _, data in taken)
        if not self.ended:
            self.watch()
        reader(
            {
                "output": [{"stream": name, "data": base64.b64encode(data).decode("ascii")} for name, data in taken],
                "ended": self.is_read_out,
                "exit_code": self.exit_code,
                "timed_out": self.timed_out,
                "task_ended": self.task_ended,
            }
        )

    def _read(self, fd: int) -> None:
        self._take(fd)
        self.watch()
        self.tell()

    def _take(self, fd: int) -> bool:
        """False when there is nothing more for now, or ever."""
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:  # the last program on a terminal has left it
                raise
            data = b""
        if not data:
            del self._open[fd]
            return False
        self._pieces.append((self._open[fd], data))
        self._held += len(data)
        return True


class Executions:
    """All commands that run here, by name, and the requests about them."""

    def __init__(self, loop: Loop, answer: Callable[[int, Answer], None]) -> None:
        self._loop = loop
        self.answer = answer
        self._running: Dict[str, Execution] = {}
        self._count = 0

    @property
    def is_empty(self) -> bool:
        return not self._running

    def require_room(self) -> None:
        if len(self._running) >= _MAX_COMMANDS:
            raise AgentError(START_FAILED, "{} commands run here already; let one of them end".format(_MAX_COMMANDS))

    def add(self, execution: Execution) -> str:
        self._count += 1
        name = "{}-{}".format(execution.pid, self._count)
        self._running[name] = execution
        return name

    def read(self, request: Mapping[str, Any]) -> None:
        """The answer comes when there is output or the command has ended, at the latest after a while."""
        number, name = request["id"], requests.text(request, "exec")
        execution = self._required(name)
        execution.answer_now()  # an earlier reader gets no further answer

        def answered(answer: Answer) -> None:
            if answer["ended"]:
                self._running.pop(name, None)
            self.answer(number, answer)

        execution.reader = answered
        execution.timer = self._loop.call_later(_ANSWER_WITHIN_S, execution.answer_now)
        execution.tell()

    def write(self, request: Mapping[str, Any]) -> None:
        """The answer comes when the command has taken the input or has no use for it, at the latest after a while. The
        input is not sent again then: an empty piece waits for what was sent before."""
        number, execution = request["id"], self._required(requests.text(request, "exec"))
        data, is_last = requests.data(request, MOST_INPUT_BYTES), bool(request.get("last"))
        if execution.input is None:
            self.answer(number, {"taken": True})
            return
        timer = self._loop.call_later(_ANSWER_WITHIN_S, execution.input.tell_waiting)

        def answered(taken: bool) -> None:
            timer.cancel()
            self.answer(number, {"taken": taken})

        execution.input.send(data, is_last, answered)

    def resize(self, request: Mapping[str, Any]) -> Answer:
        execution = self._required(requests.text(request, "exec"))
        rows, columns = (requests.whole_number(request, key, 1, 10_000) for key in ("rows", "columns"))
        if execution.resize is not None:
            execution.resize(rows, columns)
        return {}

    def stop(self, request: Mapping[str, Any]) -> Answer:
        """Stopping a command that is gone is no error."""
        execution = self._running.pop(requests.text(request, "exec"), None)
        if execution is not None:
            execution.end()
        return {}

    def stop_all(self) -> None:
        for execution in self._running.values():
            execution.end()
        self._running.clear()

    def _required(self, name: str) -> Execution:
        execution = self._running.get(name)
        if execution is None:
            raise AgentError(BAD_REQUEST, "no command {!r} runs here".format(name))
        return execution
