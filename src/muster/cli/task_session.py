"""Connects this terminal, or these pipes, to a command in a task, until the command has ended."""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from muster.client.task_commands import TaskCommand, TaskCommandResult

_READ_BYTES = 64 << 10
_STDIN = 0
_FATAL = (signal.SIGTERM, signal.SIGHUP)


def terminal_here() -> Mapping[str, Any]:
    """The terminal at which we are, as the server wants it described."""
    rows, columns = _size()
    return {"rows": rows, "columns": columns, "kind": os.environ.get("TERM") or "xterm"}


def run_at_terminal(command: "TaskCommand") -> "TaskCommandResult":
    """All keys go to the command, also Ctrl-C. The terminal is restored whatever happens."""
    with _resizes() as resized, _raw(_STDIN):
        return _exchange(command, has_input=True, resized=resized)


def run_in_pipes(command: "TaskCommand", *, has_input: bool) -> "TaskCommandResult":
    """Input, output and errors are passed on unchanged."""
    if not has_input:
        command.end_input()
    return _exchange(command, has_input=has_input)


def _exchange(command: "TaskCommand", *, has_input: bool, resized: int | None = None) -> "TaskCommandResult":
    from muster.client.task_commands import TaskCommandResult

    outputs = {"stdout": sys.stdout.fileno(), "stderr": sys.stderr.fileno()}
    while True:
        takes_input = has_input and command.has_room
        others = ([_STDIN] if takes_input else []) + ([] if resized is None else [resized])
        for told in command.wait(others):
            if isinstance(told, TaskCommandResult):
                return told
            _write(outputs[told.stream], told.data)
        if resized is not None and _can_be_read(resized):
            os.read(resized, _READ_BYTES)
            command.resize(*_size())
        if takes_input and _can_be_read(_STDIN):
            data = os.read(_STDIN, _READ_BYTES)
            if data:
                command.send(data)
            else:
                has_input = False
                command.end_input()


def _can_be_read(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _size() -> tuple[int, int]:
    """The rows and columns now. LINES and COLUMNS do not change with the terminal, so they are not asked."""
    size = os.get_terminal_size(_STDIN)
    return max(1, size.lines), max(1, size.columns)


@contextmanager
def _raw(fd: int) -> Iterator[None]:
    """Signals that would end us end the session instead, so that the terminal is restored."""
    before = termios.tcgetattr(fd)
    handlers = {number: signal.signal(number, _leave) for number in _FATAL}
    try:
        tty.setraw(fd, termios.TCSADRAIN)  # what was typed already is kept
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextmanager
def _resizes() -> Iterator[int]:
    """A descriptor that can be read whenever the size of the terminal has changed."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)

    def changed(number: int, frame: FrameType | None) -> None:
        try:
            os.write(writing, b"w")
        except BlockingIOError:
            pass  # it can be read already

    before = signal.signal(signal.SIGWINCH, changed)
    try:
        yield reading
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(reading)
        os.close(writing)
