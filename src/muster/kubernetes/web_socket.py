"""The frames of a WebSocket connection (RFC 6455), as a client writes and reads them. This does no IO."""

import base64
import os
import struct
from dataclasses import dataclass, field

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_MORE = 0x0
_LARGEST_BYTES = 4 << 20
"""The longest message that is accepted. API servers send no more than some ten thousand bytes in one."""


class SocketError(Exception):
    """The bytes are not those of a WebSocket."""


def handshake(protocol: str) -> dict[str, str]:
    """The headers that ask for a WebSocket."""
    key = base64.b64encode(os.urandom(16)).decode()
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": protocol,
    }


def encoded(kind: int, payload: bytes) -> bytes:
    """One whole message. What clients send is masked, so that no proxy takes it for a request."""
    size, mask = len(payload), os.urandom(4)
    if size < 126:
        head = struct.pack(">BB", 0x80 | kind, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, size)
    pattern = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")
    return head + mask + masked.to_bytes(size, "big")


@dataclass(slots=True)
class SocketDecoder:
    """Turns arbitrary pieces of the stream into whole messages: their kind and payload."""

    _buffer: bytearray = field(default_factory=bytearray)
    _begun: bytearray = field(default_factory=bytearray)
    _kind: int = BINARY

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        self._buffer += data
        found: list[tuple[int, bytes]] = []
        while (frame := self._next()) is not None:
            is_last, kind, payload = frame
            if kind >= CLOSE:
                found.append((kind, payload))
                continue
            if kind != _MORE:
                self._kind = kind
                self._begun.clear()
            self._begun += payload
            if len(self._begun) > _LARGEST_BYTES:
                raise SocketError("a message is too long")
            if is_last:
                found.append((self._kind, bytes(self._begun)))
                self._begun.clear()
        return found

    def _next(self) -> tuple[bool, int, bytes] | None:
        if len(self._buffer) < 2:
            return None
        first, second = self._buffer[0], self._buffer[1]
        if second & 0x80 or first & 0x70:
            raise SocketError("a frame of a server is neither masked nor extended")
        size, start = second & 0x7F, 2
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(self._buffer) < start:
                return None
            size = int.from_bytes(self._buffer[2:start], "big")
        if size > _LARGEST_BYTES:
            raise SocketError("a frame is too long")
        if len(self._buffer) < start + size:
            return None
        payload = bytes(self._buffer[start : start + size])
        del self._buffer[: start + size]
        return bool(first & 0x80), first & 0x0F, payload
