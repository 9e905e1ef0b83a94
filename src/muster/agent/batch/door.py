"""The thread that takes the connections of strangers at all ports of the relay, however many come."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from typing import Callable

from muster.agent.batch.strangers import Stranger, Strangers, TokenOf, Welcome, register
from muster.agent.system.frames import Message

_LOOK_EVERY_S = 1.0


class Door:
    """`welcome` gets each connection that belongs to a gang, as Strangers says."""

    def __init__(self, token_of: TokenOf, welcome: Welcome, is_known: Callable[[Message], bool]) -> None:
        self._selector = selectors.DefaultSelector()
        self._strangers = Strangers(self._selector, token_of, welcome, is_known)
        self._new: "list[socket.socket]" = []
        self._woken, self._wake = os.pipe()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        threading.Thread(target=self._serve, daemon=True).start()

    def open(self, server: socket.socket) -> None:
        """Take connections there, too. From any thread."""
        server.setblocking(False)
        self._new.append(server)
        os.write(self._wake, b"+")

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select(_LOOK_EVERY_S if self._strangers.count else None):
                if isinstance(key.data, Stranger):
                    self._strangers.hear(key.data)
                elif isinstance(key.data, socket.socket):
                    self._strangers.accept(key.data)
                else:
                    self._take_new()
            self._strangers.drop_late()

    def _take_new(self) -> None:
        os.read(self._woken, 4096)
        while self._new:
            server = self._new.pop()
            register(self._selector, server.fileno(), server)
