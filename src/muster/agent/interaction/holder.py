"""The process that holds the other end of a task's standard input, so that it outlives the agent.

It gives that end to whoever asks on its socket, which only the agent's account may use. What a terminal shows is
written to the task's log. Those who attach read the log, so nothing is kept here, and nobody who reads slowly can hold
up the task.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
from typing import Callable, Dict, NoReturn, Optional

from muster.agent.system.terminals import received_descriptor, send_descriptor

GIVE_INPUT, END_INPUT = b"i", b"e"
"""What is asked on the socket: the descriptor into which input is written, or that there will be no more."""
TASK_ENDED = b"x"
"""What the parent says when the command has ended: what it printed last is taken, and that is all."""
_READ_BYTES = 64 * 1024
_LAST_READS = 64  # more than a terminal keeps: a process that escaped and prints for ever must not hold us up
_ASK_WITHIN_S = 5.0
_CREDENTIALS = struct.Struct("3i")

_Callback = Callable[[], None]


class Holder:
    def __init__(self, listener: socket.socket, parent: socket.socket, log: int, path: str) -> None:
        self._listener = listener
        self._parent = parent
        self._log = log
        self._path = path
        self._held: Optional[int] = None
        self._is_terminal = False
        self._poll = select.poll()
        self._callbacks: Dict[int, _Callback] = {}

    def hold_pipe(self, writing: int) -> NoReturn:
        self._hold(writing)
        self._poll.register(writing, 0)  # only that nobody reads it any more
        self._callbacks[writing] = self._leave
        self._run()

    def hold_terminal(self, master: int) -> NoReturn:
        self._hold_terminal(master)
        self._run()

    def await_terminal(self, arriving: socket.socket) -> NoReturn:
        """The command opens the terminal itself, in its own view of the devices, and sends the other end."""
        self._watch(arriving.fileno(), lambda: self._arrived(arriving))
        self._run()

    def _run(self) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._watch(self._parent.fileno(), self._told)
        try:
            while True:
                for fd, _ in self._poll.poll():
                    if fd in self._callbacks:
                        self._callbacks[fd]()
        except BaseException:
            self._leave()

    def _arrived(self, arriving: socket.socket) -> None:
        master = received_descriptor(arriving)
        self._unwatch(arriving.fileno())
        arriving.close()
        if master is None:
            self._leave()  # the command could not be started, and has said why in the log
        else:
            self._hold_terminal(master)

    def _hold_terminal(self, master: int) -> None:
        self._is_terminal = True
        self._hold(master)
        self._watch(master, self._pump)

    def _hold(self, held: int) -> None:
        self._held = held
        os.set_blocking(held, False)
        self._watch(self._listener.fileno(), self._serve)

    def _watch(self, fd: int, callback: _Callback) -> None:
        self._poll.register(fd, select.POLLIN)
        self._callbacks[fd] = callback

    def _unwatch(self, fd: int) -> None:
        self._poll.unregister(fd)
        del self._callbacks[fd]

    def _pump(self) -> None:
        if not self._take():
            self._leave()

    def _take(self) -> bool:
        """Take what the terminal shows. False if nobody has it any more."""
        assert self._held is not None
        try:
            data = os.read(self._held, _READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._write(data)
        return bool(data)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._log, data) :]
        except OSError:
            pass  # the disk is full: a command that writes to its log itself loses this, too

    def _serve(self) -> None:
        """Only the agent's account, and root, are answered."""
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(_ASK_WITHIN_S)
            try:
                _, uid, _ = _CREDENTIALS.unpack(
                    connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
                )
                asked = connection.recv(1) if uid in (0, os.getuid()) else b""
                if asked == GIVE_INPUT and self._held is not None:
                    send_descriptor(connection, self._held)
                elif asked == END_INPUT and not self._is_terminal:
                    self._leave()
            except OSError:
                pass  # whoever asked has gone

    def _told(self) -> None:
        """A parent that was killed says nothing: the end of the command is seen then by its input."""
        told = self._parent.recv(1)
        self._unwatch(self._parent.fileno())
        if told != TASK_ENDED:
            return
        if self._is_terminal:
            self._take_the_rest()
        self._leave()

    def _take_the_rest(self) -> None:
        assert self._held is not None
        for _ in range(_LAST_READS):
            if not select.select([self._held], [], [], 0)[0] or not self._take():
                return

    def _leave(self) -> NoReturn:
        try:
            os.unlink(self._path)
        except OSError:
            pass
        os._exit(0)
