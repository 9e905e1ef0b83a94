"""A WebSocket to a running task, message by message.

Nothing here waits unless asked to, because whoever uses one has input and output at the same time. It never retries,
because what was interrupted may have happened.
"""

import base64
import json
import os
import select
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import ProtocolError

from muster.client.errors import BAD_ANSWER, MusterError
from muster.client.transport import Request, Transport

_READ_BYTES = 256 << 10
_UNSENT_BYTES = 512 << 10
_SILENCE_S = 75.0  # the server pings more often than that, so longer silence means a dead connection


class MessageSocket:
    """`lost` makes the error for a connection that ended before its time, from the reason."""

    def __init__(self, transport: Transport, path: str, lost: Callable[[str], MusterError]) -> None:
        self._server = transport.server
        self._lost = lost
        key = base64.b64encode(os.urandom(16)).decode("ascii")
        try:
            self._http = transport.upgraded(Request("GET", path, repeatable=False), key)
        except OSError as error:
            raise transport.lost(error) from error
        self._socket = self._http.sock
        self._socket.setblocking(False)
        self._protocol = Connection(ConnectionType.CLIENT)
        self._unsent = bytearray()
        self._part: dict[type, list[Any]] = {BytesMessage: [], TextMessage: []}
        self._end: MusterError | None = None
        self._heard_at = time.monotonic()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def has_room(self) -> bool:
        """Whether more may be sent. What is sent beyond that is kept in memory."""
        return len(self._unsent) < _UNSENT_BYTES

    def send(self, data: bytes) -> None:
        """Sends bytes, now or with a later `flush`."""
        self._put(BytesMessage(data=data))
        self.flush()

    def tell(self, message: Mapping[str, Any]) -> None:
        self._put(TextMessage(data=json.dumps(message)))
        self.flush()

    def wait(
        self, others: Sequence[Any] = (), timeout_s: float | None = None, writable: Sequence[Any] = ()
    ) -> list[bytes | str]:
        """Waits until there is something, or until one of the other descriptors can be read or written, and returns the
        messages that there are."""
        until = self._heard_at + _SILENCE_S
        left = max(0.0, until - time.monotonic())
        if not self._is_pending() and self._end is None:
            wait_s = left if timeout_s is None else min(left, timeout_s)
            writers = [self._socket] if self._unsent else []
            select.select([self._socket, *others], [*writers, *writable], [], wait_s)
        self.flush()
        told = self.receive()
        if not told and time.monotonic() >= until:
            raise self._lost("it has been silent for too long")
        return told

    def receive(self) -> list[bytes | str]:
        """Returns what has come, without waiting. What came before the end of the connection is returned first."""
        told: list[bytes | str] = []
        while self._end is None:
            try:
                data = self._socket.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                self._end = self._lost(error.strerror or str(error))
                break
            if not data:
                self._end = self._lost("the connection was closed")
                break
            self._heard_at = time.monotonic()
            told += self._read(data)
            if told:
                break  # the rest can wait until this has been used
        if not told and self._end is not None:
            raise self._end
        return told

    def flush(self) -> None:
        """Sends what is unsent, as far as the connection takes it."""
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent[:_READ_BYTES])]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            return  # whatever the server said before it closed the connection is still to be read

    def close(self) -> None:
        self._http.close()
        self._socket.close()

    def _is_pending(self) -> bool:
        """Whether decrypted bytes are waiting, which a descriptor does not show."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def _put(self, event: Any) -> None:
        self._unsent += self._protocol.send(event)

    def _read(self, data: bytes) -> Iterator[bytes | str]:
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                if isinstance(event, Ping):
                    self._put(event.response())
                    self.flush()
                elif isinstance(event, CloseConnection):
                    self._end = self._lost(event.reason or "the server closed the connection")
                    return
                elif isinstance(event, BytesMessage | TextMessage) and (whole := self._whole(event)) is not None:
                    yield whole
        except ProtocolError as error:
            raise MusterError(f"the answer of {self._server} is not a WebSocket: {error}", code=BAD_ANSWER) from error

    def _whole(self, event: BytesMessage | TextMessage) -> bytes | str | None:
        parts = self._part[type(event)]
        parts.append(event.data)
        if not event.message_finished:
            return None
        whole: bytes | str = b"".join(parts) if isinstance(event, BytesMessage) else "".join(parts)
        parts.clear()
        return whole
