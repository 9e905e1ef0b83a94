"""Connects this terminal, or these pipes, to a command in a task or to the task itself, until that has ended."""

import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from muster.cli.detach_keys import DetachKeys
from muster.cli.failures import Failure
from muster.cli.terminal import echo
from muster.client.errors import MusterError

try:
    import termios
    import tty
except ImportError:  # Windows has neither
    _HAS_MODES = False
else:
    _HAS_MODES = True

if TYPE_CHECKING:
    from muster.client.task_commands import TaskCommand, TaskCommandResult

_READ_BYTES = 64 << 10
_STDIN = 0
_FATAL = ("SIGTERM", "SIGHUP")


def terminal_here() -> Mapping[str, Any]:
    """The terminal at which we are, as the server wants it described."""
    rows, columns = _size()
    return {"rows": rows, "columns": columns, "kind": os.environ.get("TERM") or "xterm"}


class Detached(Exception):
    """The keys for this were typed. What runs in the task goes on."""


def run_at_terminal(command: "TaskCommand", detach_keys: bytes = b"") -> "TaskCommandResult":
    """All keys go to the command, also Ctrl-C. The terminal is restored whatever happens."""
    _require_posix()
    try:
        with _resizes() as resized, _raw(_STDIN):
            return _exchange(command, DetachKeys(detach_keys), has_input=True, resized=resized)
    except MusterError:
        echo("", err=True)  # the cursor is behind what the command printed last, such as a prompt
        raise


def run_in_pipes(command: "TaskCommand", *, has_input: bool) -> "TaskCommandResult":
    """Input, output and errors are passed on unchanged."""
    if not has_input:
        command.end_input()
    else:
        _require_posix()
    return watch(command) if not has_input else _exchange(command, DetachKeys(b""), has_input=True)


def watch(command: "TaskCommand") -> "TaskCommandResult":
    """Only its output is passed on, and its input stays as it is."""
    return _exchange(command, DetachKeys(b""), has_input=False)


def _exchange(
    command: "TaskCommand", keys: DetachKeys, *, has_input: bool, resized: int | None = None
) -> "TaskCommandResult":
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
                passed, is_detached = keys.passed(data)
                command.send(passed)
                if is_detached:
                    raise Detached
            else:
                has_input = False
                command.end_input()


def _require_posix() -> None:
    """Windows can neither switch its terminal to single keys in this way, nor wait for a pipe and a socket at once."""
    if not _HAS_MODES:
        raise Failure(
            "this needs the terminal of a POSIX system such as Linux or macOS",
            hint="on Windows, run it in WSL; without input, `muster exec JOB -- COMMAND < NUL` works everywhere",
        )


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
    handlers = {number: signal.signal(number, _leave) for number in (getattr(signal, name) for name in _FATAL)}
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
