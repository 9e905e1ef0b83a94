"""Commands that an admin runs on the node. They have no job, no folder and no log, and live while somebody reads them.

Output is held until it is asked for, and no more is taken from the command than a reader has room for. A command ends
with the connection to the server: an agent that leaves ends its commands, and those of an agent that was killed are
ended by the next one.
"""

from __future__ import annotations

import base64
import os
import subprocess
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from muster.agent import requests
from muster.agent.errors import BAD_REQUEST, START_FAILED, AgentError
from muster.agent.system.loop import Loop, Timer
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.system.processes import MARK, kill_all, marked, send_group
from muster.agent.system.site_scripts import account_environment

_MAX_COMMANDS = 16
_HELD_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024
_LAST_READS = 16  # more than a pipe holds: a process that escaped and writes for ever must not hold up the agent
_LAST_LOOKS = 10
_ANSWER_WITHIN_S = 20.0
_KILL = 9

Answer = Dict[str, Any]


class Execution:
    """One running command, its unread output, and the reader that waits for more."""

    def __init__(self, loop: Loop, process: subprocess.Popen[bytes], mark: str) -> None:
        self.process = process
        self.mark = mark
        self.exit_code: Optional[int] = None
        self.timed_out = False
        self.reader: Optional[Callable[[Answer], None]] = None
        self.timer: Optional[Timer] = None
        self.deadline: Optional[Timer] = None
        self._loop = loop
        self._pieces: List[Tuple[str, bytes]] = []
        self._held = 0
        self._open = {_descriptor(process.stdout): "stdout", _descriptor(process.stderr): "stderr"}
        self._watched: List[int] = []
        for fd in self._open:
            os.set_blocking(fd, False)
        self.watch()

    @property
    def ended(self) -> bool:
        return self.exit_code is not None

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
        """The command has ended. What is still in the pipes is taken; other processes that hold them open are
        killed."""
        send_group(self.process.pid, _KILL)
        for fd in list(self._open):
            for _ in range(_LAST_READS):
                if fd not in self._open or not self._take(fd):
                    break
        self.exit_code = exit_code
        self.watch()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

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
            }
        )

    @property
    def is_read_out(self) -> bool:
        return self.ended and not self._pieces

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
        if not data:
            del self._open[fd]
            return False
        self._pieces.append((self._open[fd], data))
        self._held += len(data)
        return True


class Executing:
    def __init__(self, loop: Loop, exits: ExitWatch, root: str, answer: Callable[[int, Answer], None]) -> None:
        self._loop = loop
        self._exits = exits
        self._marks = os.path.join(root, "exec")
        self._mark = os.path.join(self._marks, os.urandom(8).hex())
        self._answer = answer
        self._running: Dict[str, Execution] = {}
        self._count = 0

    def sweep(self) -> None:
        """End the commands of an earlier agent that could not do so itself. New commands have a mark of their own."""
        self._loop.run_blocking(lambda: kill_all(marked(self._marks, but=self._mark)), lambda done: None)

    def start(self, request: Mapping[str, Any]) -> Answer:
        argv = requests.argv(request)
        timeout_s = requests.seconds(request, "timeout_s")
        if len(self._running) >= _MAX_COMMANDS:
            raise AgentError(START_FAILED, "{} commands run here already; let one of them end".format(_MAX_COMMANDS))
        self._count += 1
        mark = os.path.join(self._mark, str(self._count))
        execution = Execution(self._loop, self._spawned(argv, mark), mark)
        name = "{}-{}".format(execution.process.pid, self._count)
        self._running[name] = execution
        self._exits.child(execution.process.pid, lambda: self._gone(execution))
        execution.deadline = self._loop.call_later(timeout_s, lambda: self._expire(execution))
        return {"exec": name}

    def read(self, request: Mapping[str, Any]) -> None:
        """The answer comes when there is output or the command has ended, at the latest after a while."""
        number, name = request["id"], requests.text(request, "exec")
        execution = self._running.get(name)
        if execution is None:
            raise AgentError(BAD_REQUEST, "no command {!r} runs here".format(name))
        execution.answer_now()  # an earlier reader gets no further answer

        def answered(answer: Answer) -> None:
            if answer["ended"]:
                self._running.pop(name, None)
            self._answer(number, answer)

        execution.reader = answered
        execution.timer = self._loop.call_later(_ANSWER_WITHIN_S, execution.answer_now)
        execution.tell()

    def stop(self, request: Mapping[str, Any]) -> Answer:
        """Stopping a command that is gone is no error."""
        execution = self._running.pop(requests.text(request, "exec"), None)
        if execution is not None:
            self._end(execution)
        return {}

    def stop_all(self) -> None:
        for execution in self._running.values():
            self._end(execution)
        self._running.clear()

    def _spawned(self, argv: Tuple[str, ...], mark: str) -> subprocess.Popen[bytes]:
        env = {**account_environment(), MARK: mark}
        home = env["HOME"] if os.path.isdir(env["HOME"]) else "/"
        try:
            return subprocess.Popen(
                argv,
                env=env,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise AgentError(START_FAILED, "cannot run {}: {}".format(argv[0], error.strerror)) from None

    def _gone(self, execution: Execution) -> None:
        code = reap(execution.process.pid)
        if execution.deadline is not None:
            execution.deadline.cancel()
        execution.process.returncode = code if code is not None else -1  # it is reaped: Popen need not look for it
        execution.finish(execution.process.returncode)
        execution.tell()
        self._loop.run_blocking(lambda: _end_marked(execution.mark), lambda done: None)

    def _expire(self, execution: Execution) -> None:
        execution.timed_out = True
        self._end(execution)

    def _end(self, execution: Execution) -> None:
        if not execution.ended:
            send_group(execution.process.pid, _KILL)


def _end_marked(mark: str) -> None:
    """End processes that left the command's session, and those that they start meanwhile."""
    for _ in range(_LAST_LOOKS):
        left = marked(mark)
        if not left:
            return
        kill_all(left)


def _descriptor(pipe: Any) -> int:
    assert pipe is not None
    return int(pipe.fileno())
