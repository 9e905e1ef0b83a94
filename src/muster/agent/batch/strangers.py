"""Connections that have not shown yet that they belong to a gang.

Anybody on the network can open one. They cost no thread and little memory, there are few of them, and each has some
seconds to prove that it knows a token (see `sealing`). Where there are too many, the oldest of the address with the
most of them goes: who belongs to a gang proves it at once.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter
from typing import Any, Callable, Dict, Optional

from muster.agent.batch.sealing import CLIENT, SEAL, SERVER, Exchange, Sealing, nonce
from muster.agent.system.frames import FrameError, Message, after_first, encode, first_object

MOST = 256
MOST_OF_ADDRESS = 64
SPEAK_WITHIN_S = 10.0
FIRST_BYTES = 256 * 1024
_READ_BYTES = 1 << 16
_PAUSE_S = 0.05
TokenOf = Callable[[Message], Optional[str]]
"""The token of the gang that a message names, if there is such a gang."""
Welcome = Callable[[socket.socket, bytes, str, Optional[Sealing]], None]
"""Takes a connection with what was received beyond the proof, the key that it has named, and what seals the rest."""


class Stranger:
    def __init__(self, connection: socket.socket, address: str) -> None:
        self.connection = connection
        self.address = address
        self.since = time.monotonic()
        self.received = b""
        self.key = ""
        self.exchange: Optional[Exchange] = None
        """What it has to prove, once it has named a gang."""


class Strangers:
    """Registers new connections at `selector`, with a Stranger as their data. One that has proven itself is given to
    `welcome`. So is one whose first message `is_known`, as gangs of earlier releases show their token in it."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        token_of: TokenOf,
        welcome: Welcome,
        is_known: Callable[[Message], bool] = lambda _: False,
    ) -> None:
        self._selector = selector
        self._token_of = token_of
        self._welcome = welcome
        self._is_known = is_known
        self._waiting: Dict[int, Stranger] = {}
        """Those who have not proven who they are yet, in the order in which they came."""

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
            while (said := first_object(stranger.received, FIRST_BYTES)) is not None:
                if not self._take(stranger, said):
                    return
        except BlockingIOError:
            return
        except (OSError, FrameError):
            self._drop(stranger)
            return
        if not data:
            self._drop(stranger)

    def _take(self, stranger: Stranger, said: Message) -> bool:
        """Whether it is still a stranger, and may say more. Raises FrameError if it may not."""
        if stranger.exchange is not None:
            if not stranger.exchange.is_proof(CLIENT, said.get("proof")):
                raise FrameError("a proof is wrong")
            rest = after_first(stranger.received)
            self._let_in(stranger, rest, stranger.exchange.sealing(SERVER))
            return False
        if said.get("what") == SEAL:
            self._challenge(stranger, said)
            return True
        if not self._is_known(said):
            raise FrameError("a first message says nothing that is known")
        stranger.key = str(said.get("key"))
        self._let_in(stranger, stranger.received, None)
        return False

    def _challenge(self, stranger: Stranger, said: Message) -> None:
        token = self._token_of(said)
        if not token:
            raise FrameError("there is no such gang")
        own, stranger.key = nonce(), str(said.get("key"))
        stranger.exchange = Exchange(token, stranger.key, said.get("nonce"), own)
        stranger.received = after_first(stranger.received)
        stranger.connection.send(encode({"nonce": own, "proof": stranger.exchange.proof(SERVER)}))

    def _let_in(self, stranger: Stranger, received: bytes, sealing: Optional[Sealing]) -> None:
        self._forget(stranger)
        stranger.connection.setblocking(True)
        self._welcome(stranger.connection, received, stranger.key, sealing)

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
    """Works also if the selector has not heard that another file of the same number was closed."""
    if fd in selector.get_map():
        selector.unregister(fd)
    selector.register(fd, selectors.EVENT_READ, data)
