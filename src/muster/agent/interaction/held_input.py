"""Starts the process that holds a task's standard input, before the command is started: whatever happens to the parent
in between, the command never loses its terminal.

A command in a view of its own opens its terminal there itself, so that it has a name, and sends the other end. For all
others the terminal is opened here.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from typing import Callable, NamedTuple, NoReturn, Optional, Sequence

from muster.agent.interaction.holder import TASK_ENDED, Holder
from muster.agent.system import terminals
from muster.agent.system.descriptors import close_inherited

PIPE = "pipe"
TERMINAL = "terminal"
FREE_TERMINAL = "free-terminal"
"""A terminal that the first process of the command leaves to a later one, which takes it as its own."""
_WAITING = 16
_LAST_WORDS_WITHIN_S = 5.0


class Place(NamedTuple):
    """Where the holder writes what a terminal shows, and the folder and name of its socket."""

    log: str
    folder: str
    name: str


class HeldInput:
    """What a command is started with. It is closed when the command has been started, or could not be."""

    def __init__(self, link: "HolderLink", own: Sequence[int]) -> None:
        self.link = link
        self.stdin: Optional[int] = None
        """The end of a pipe that the command reads."""
        self.terminal: Optional[str] = None
        """The path of the terminal that the command opens."""
        self.is_taken = True
        """Whether the first process of the command takes the terminal as its own."""
        self.wanted: Optional[int] = None
        """A socket on which the command sends the other end of the terminal that it has opened."""
        self._own = own

    def close(self) -> None:
        for fd in self._own:
            os.close(fd)


class HolderLink:
    """The parent's end of a holder."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self._control = control

    def finish(self) -> None:
        """The command has ended. Wait until what it printed last is in the log; a holder that does not get there is
        killed."""
        try:
            self._control.sendall(TASK_ENDED)
        except OSError:
            pass  # it has ended already
        if not select.select([self._control], [], [], _LAST_WORDS_WITHIN_S)[0]:
            os.kill(self.pid, signal.SIGKILL)
        self._control.close()


def for_any_view(kind: str, place: Place) -> HeldInput:
    """Makes the input of a command that sees the devices as we do."""
    if kind == PIPE:
        return _pipe(place)
    master, slave = terminals.opened()
    link = _started(place, [master], lambda holder: holder.hold_terminal(master))
    os.close(master)
    held = HeldInput(link, [slave])
    held.terminal, held.is_taken = os.ttyname(slave), kind == TERMINAL
    return held


def for_own_view(kind: str, place: Place) -> HeldInput:
    """Makes the input of a command that opens its terminal itself."""
    if kind == PIPE:
        return _pipe(place)
    arriving, sending = socket.socketpair()
    link = _started(place, [arriving.fileno()], lambda holder: holder.await_terminal(arriving))
    arriving.close()
    wanted = sending.detach()
    held = HeldInput(link, [wanted])
    held.wanted = wanted
    return held


def _pipe(place: Place) -> HeldInput:
    reading, writing = os.pipe()
    link = _started(place, [writing], lambda holder: holder.hold_pipe(writing))
    os.close(writing)
    held = HeldInput(link, [reading])
    held.stdin = reading
    return held


def _started(place: Place, kept: Sequence[int], hold: Callable[[Holder], NoReturn]) -> HolderLink:
    listener = _listening(place)
    log = os.open(place.log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        for one in (listener, theirs):
            one.close()
        os.close(log)
        return HolderLink(pid, ours)
    try:
        os.setsid()
        close_inherited({*kept, listener.fileno(), log, theirs.fileno()})
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)  # those of the parent are its connection to the agent
        hold(Holder(listener, theirs, log, os.path.join(place.folder, place.name)))
    finally:
        os._exit(1)


def _listening(place: Place) -> socket.socket:
    """Listens by way of the socket's folder, because the path of a socket must be short. Nobody can connect before it
    listens, and then only our own account may."""
    folder = os.open(place.folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = "/proc/self/fd/{}/{}".format(folder, place.name)
    try:
        if os.path.lexists(path):
            os.unlink(path)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(_WAITING)
    except OSError:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener
