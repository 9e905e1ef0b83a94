"""Connections that have not shown yet that they belong to a gang.

Anybody on the network can open one. They cost no thread and little memory, there are few of them, and each has some
seconds to say one message with a valid token. Where there are too many, the oldest of the address with the most of them
goes: who belongs to a gang shows its token at once.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter
from typing import Any, Callable, Dict

from muster.agent.system.frames import FrameError, Message, first_object

MOST = 256
MOST_OF_ADDRESS = 64
SPEAK_WITHIN_S = 10.0
FIRST_BYTES = 256 * 1024
_READ_BYTES = 1 << 16
_PAUSE_S = 0.05


class Stranger:
    def __init__(self, connection: socket.socket, address: str) -> None:
        self.connection = connection
        self.address = address
        self.since = time.monotonic()
        self.received = b""


class Strangers:
    """Registers new connections at `selector`, with a Stranger as their data. One whose first message `is_known` is
    given to `welcome`, with what was received."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        is_known: Callable[[Message], bool],
        welcome: Callable[[socket.socket, bytes], None],
    ) -> None:
        self._selector = selector
        self._is_known = is_known
        self._welcome = welcome
        self._waiting: Dict[int, Stranger] = {}
        """In the order in which they came."""

    def accept(self, server: socket.socket) -> None:
        """Take the next connection. `server` does not block."""
        try:
            connection, address = server.accept()
        except BlockingIOError:
            return
        except OSError:  # it is gone again, or this process has too many files open
            if not self._drop_oldest():
                time.sleep(_PAUSE_S)
            return
        connection.setblocking(False)
        stranger = Stranger(connection, str(address[0]))
        self._waiting[connection.fileno()] = stranger
        register(self._selector, connection.fileno(), stranger)
        self.hear(stranger)
        self._keep_few(stranger.address)

    def hear(self, stranger: Stranger) -> None:
        if stranger.connection.fileno() < 0:
            return  # it was dropped in this turn
        try:
            data = stranger.connection.recv(_READ_BYTES)
            stranger.received += data
            first = first_object(stranger.received, FIRST_BYTES)
            is_known = first is not None and self._is_known(first)
        except BlockingIOError:
            return
        except (OSError, FrameError):
            self._drop(stranger)
            return
        if is_known:
            self._forget(stranger)
            stranger.connection.setblocking(True)
            self._welcome(stranger.connection, stranger.received)
        elif first is not None or not data:
            self._drop(stranger)

    def drop_late(self) -> None:
        """Those who have had their time."""
        until = time.monotonic() - SPEAK_WITHIN_S
        for stranger in [one for one in self._waiting.values() if one.since <= until]:
            self._drop(stranger)

    @property
    def count(self) -> int:
        return len(self._waiting)

    def _keep_few(self, address: str) -> None:
        if sum(one.address == address for one in self._waiting.values()) > MOST_OF_ADDRESS or self.count > MOST:
            self._drop_oldest()

    def _drop_oldest(self) -> bool:
        """Whether there was one."""
        most = Counter(one.address for one in self._waiting.values()).most_common(1)
        for stranger in list(self._waiting.values()):
            if stranger.address == most[0][0]:
                self._drop(stranger)
                return True
        return False

    def _drop(self, stranger: Stranger) -> None:
        self._forget(stranger)
        stranger.connection.close()

    def _forget(self, stranger: Stranger) -> None:
        fd = stranger.connection.fileno()
        del self._waiting[fd]
        self._selector.unregister(fd)


def register(selector: selectors.BaseSelector, fd: int, data: Any) -> None:
    """Also if the selector has not heard that another file of the same number was closed."""
    if fd in selector.get_map():
        selector.unregister(fd)
    selector.register(fd, selectors.EVENT_READ, data)
