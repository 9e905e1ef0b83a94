"""Connections of clients: counted by address and in all, and closed if a request is not sent to its end in time.

A connection over the bound is answered with the reason once its first bytes have come: an answer before them would be
lost, because the kernel resets a connection that is closed with unread bytes.
"""

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from muster.domain.errors import MusterError, TooMany
from muster.server.bounds import Bound
from muster.server.problems import MEDIA_TYPE, problem

Network = IPv4Network | IPv6Network
HEAD_DEADLINE_S = 20.0
"""The time for the head of a request, from its first byte or from the connection."""
_LEAST_BYTES = 20 << 10
"""What must come of a body in the same time. It is less than any working connection carries."""
_REFUSED_AT_ONCE = 64
_RETRY = (408, 429, 503)


MAX_MESSAGE_BYTES = 1 << 20
"""The longest message on a WebSocket."""


class ConnectionLimits:
    """`trusted` are proxies: their connections belong to many people, so they count only for everybody."""

    def __init__(self, bound: Bound, trusted: Sequence[Network] = (), deadline_s: float = HEAD_DEADLINE_S) -> None:
        self.bound = bound
        self.deadline_s = deadline_s
        self.refused = 0
        self._trusted = tuple(trusted)

    def holder(self, client: tuple[str, int] | None, connection: object) -> str:
        if client is None:
            return ""
        if self._trusted and any(ip_address(client[0]) in network for network in self._trusted):
            return f"proxy {id(connection)}"
        return client[0]


def bounded_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Returns the protocol for uvicorn, which makes one for each connection."""

    class Protocol(_BoundedProtocol):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(limits, *arguments, **named)

    return Protocol


class WebSocketProtocol(WSProtocol):
    on_lost: Callable[[], None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        on_lost, self.on_lost = self.on_lost, None
        if on_lost is not None:
            on_lost()
        super().connection_lost(exc)


class _BoundedProtocol(HttpToolsProtocol):
    def __init__(self, limits: ConnectionLimits, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits = limits
        self._holder: str | None = None
        self._refusal: MusterError | None = None
        self._is_partial = True
        self._has_head = False
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        holder = self._limits.holder(self.client, self)
        try:
            self._limits.bound.take(holder)
        except MusterError as error:
            self._limits.refused += 1
            self._refusal = error
            if self._limits.refused > _REFUSED_AT_ONCE:
                transport.abort()
                return
        else:
            self._holder = holder
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._holder is not None:
            self._limits.bound.give_back(self._holder)
        if self._refusal is not None:
            self._limits.refused -= 1
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._answer(429 if isinstance(self._refusal, TooMany) else 503, self._refusal.code, self._refusal.message)
            return
        self._received += len(data)
        super().data_received(data)
        if not self._is_partial:
            self._disarm()
        elif self._timer is None:
            self._arm()

    def on_message_begin(self) -> None:
        self._is_partial, self._has_head = True, False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """What follows a chunked body comes here too, and must not count as a header: proxies do not look at it."""
        if not self._has_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._has_head = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_partial = False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Another protocol takes over the connection, and gives it back."""
        super().handle_websocket_upgrade()
        self._disarm()
        successor = self.transport.get_protocol()
        assert isinstance(successor, WebSocketProtocol)
        holder, self._holder = self._holder, None
        if holder is not None:
            successor.on_lost = lambda: self._limits.bound.give_back(holder)

    def send_400_response(self, msg: str) -> None:
        """Answers what cannot be parsed like every other error, and not in plain text."""
        self._answer(400, "bad-request", msg)

    def _arm(self) -> None:
        self._received = 0
        self._timer = self.loop.call_later(self._limits.deadline_s, self._check_progress)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_progress(self) -> None:
        self._timer = None
        if self.transport.is_closing() or not self._is_partial:
            return
        if self._has_head and (self._received >= _LEAST_BYTES or self.flow.read_paused):
            self._arm()
        elif self.cycle is not None and not self.cycle.response_complete and self.cycle.response_started:
            self.transport.close()
        else:
            self._answer(408, "timed-out", "the request was not sent to its end in time")

    def _answer(self, status: int, code: str, detail: str) -> None:
        """Answers without the application, and closes the connection."""
        if self.transport.is_closing():
            return
        body = problem(status, code, detail).body
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"content-type: {MEDIA_TYPE}",
            f"content-length: {len(body)}",
            *(["retry-after: 2"] if status in _RETRY else []),
            "connection: close",
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + bytes(body))
        self.transport.close()
