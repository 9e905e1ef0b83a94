"""A step inside the allocation of a task, as the login node has it: `srun`, and the session that it runs."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any, Callable, List, Mapping, Set

from muster.agent.batch import task_session
from muster.agent.batch.script_output import step_words
from muster.agent.errors import START_FAILED, AgentError
from muster.agent.system.channel import LINES, Channel
from muster.agent.system.frames import Message
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.system.processes import send

_BEGIN_WITHIN_S = 45.0
_END_WITHIN_S = 20.0
_LAST_WORDS_S = 0.2
_WORDS_BYTES = 4000
_READ_BYTES = 1 << 16


class TaskStep:
    """`on_answer` gets the answers as they are, and `on_end` is called once, when nothing more will be answered."""

    def __init__(
        self,
        loop: Loop,
        exits: ExitWatch,
        argv: List[str],
        env: Mapping[str, str],
        on_answer: Callable[[Message], None],
        on_end: Callable[["TaskStep"], None],
    ) -> None:
        self.waiting: Set[int] = set()
        """The requests without an answer."""
        self.has_begun = False
        self.is_ended = False
        self._loop, self._on_answer, self._on_end = loop, on_answer, on_end
        self._words = b""
        self._is_left = False
        self._is_gone = False
        self._process = _started(argv, env)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._input, self._output, self._errors = (
            stream.fileno() for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._watched: Set[int] = set()
        self._channel = Channel(loop, self._output, self._input, self._hear, lambda problem: self._hang_up(), LINES)
        os.set_blocking(self._errors, False)
        self._watch(self._errors, self._take_words)
        exits.child(self._process.pid, self._gone)
        loop.call_later(_BEGIN_WITHIN_S, lambda: None if self.has_begun else self.leave())
        self._tell()

    @property
    def words(self) -> str:
        """What Slurm has said, in one line."""
        return step_words(self._words.decode("utf-8", "replace")) or "it has not said why"

    def ask(self, request: Message) -> None:
        self.waiting.add(int(request["id"]))
        self._channel.send(request)

    def leave(self) -> None:
        """Nothing more is asked. The session ends when its input does."""
        self._hang_up()
        self._end()

    def _hang_up(self) -> None:
        """`srun` is killed if it does not end now."""
        if self._is_left:
            return
        self._is_left = True
        self._channel.close()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._watch(self._output, self._discard)
        for after_s, number in ((_END_WITHIN_S, signal.SIGTERM), (2 * _END_WITHIN_S, signal.SIGKILL)):
            self._loop.call_later(after_s, lambda number=number: self._kill(number))  # type: ignore[misc]

    def _tell(self) -> None:
        if not self._is_left:
            self._channel.send({"op": task_session.ALIVE})
            self._loop.call_later(task_session.TELL_EVERY_S, self._tell)

    def _hear(self, message: Message) -> None:
        self.has_begun = True
        number = message.get("id")
        if number in self.waiting:
            self.waiting.discard(number)
            self._on_answer(message)
        elif message.get("event") == task_session.IDLE and not self.waiting:
            self.leave()

    def _take_words(self) -> None:
        try:
            data = os.read(self._errors, _READ_BYTES)
        except BlockingIOError:
            return
        self._words = (self._words + data)[-_WORDS_BYTES:]
        if not data:
            self._unwatch(self._errors)

    def _discard(self) -> None:
        try:
            if not os.read(self._output, _READ_BYTES):
                self._unwatch(self._output)
        except BlockingIOError:
            return

    def _kill(self, number: int) -> None:
        if not self._is_gone:
            send(self._process.pid, number)

    def _gone(self) -> None:
        """What it has written last may still be in the pipes."""
        self._is_gone = True
        reap(self._process.pid)
        self._loop.call_later(_LAST_WORDS_S, self._close)

    def _close(self) -> None:
        self.leave()
        for stream, fd in ((self._process.stdout, self._output), (self._process.stderr, self._errors)):
            self._unwatch(fd)
            assert stream is not None
            stream.close()

    def _watch(self, fd: int, ready: Callable[[], None]) -> None:
        self._watched.add(fd)
        self._loop.add_reader(fd, ready)

    def _unwatch(self, fd: int) -> None:
        if fd in self._watched:
            self._watched.discard(fd)
            self._loop.remove(fd)

    def _end(self) -> None:
        if not self.is_ended:
            self.is_ended = True
            self._on_end(self)


def _started(argv: List[str], env: Mapping[str, str]) -> "subprocess.Popen[Any]":
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(env), cwd="/", bufsize=0, start_new_session=True
        )
    except OSError as error:
        words = "{} cannot be run on the login node: {}".format(argv[0], error.strerror)
        raise AgentError(START_FAILED, words) from None
    process.returncode = 0  # it is reaped elsewhere: Popen need not look for it
    return process
