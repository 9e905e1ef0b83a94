"""A connection to a port of a pod: the channels of `pods/portforward` on a WebSocket.

Every message begins with a byte for its channel: the bytes of the connection, or an error in words. The first message
of each channel names the port. The end of one direction cannot be told: closing the WebSocket closes both.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from httpx2.websockets import AsyncWebSocketSession, WebSocketDisconnect, WebSocketNetworkError
from wsproto.utilities import LocalProtocolError

from muster.domain.errors import Conflict, Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.resources import PODS

_DATA, _ERROR = 0, 1
_PROTOCOL = "v4.channel.k8s.io"
_SENT_BYTES = 32 << 10
_PORT_BYTES = 2
_REFUSED = ("refused", "failed to connect")


class PodPort:
    def __init__(self, socket: AsyncWebSocketSession, port: int) -> None:
        self._socket = socket
        self._port = port

    async def send(self, data: bytes) -> None:
        """What is sent to a pod that has closed the connection is dropped."""
        for start in range(0, len(data), _SENT_BYTES):
            try:
                await self._socket.send_bytes(bytes([_DATA]) + data[start : start + _SENT_BYTES])
            except (WebSocketDisconnect, WebSocketNetworkError, LocalProtocolError):
                return

    async def received(self) -> AsyncGenerator[bytes]:
        """Raises Conflict if nothing listens there, and Unreachable if the API server is gone."""
        announced = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}
        while True:
            try:
                message = await self._socket.receive_bytes()
            except WebSocketDisconnect:
                return
            except WebSocketNetworkError as error:
                raise Unreachable("the API server closed the connection") from error
            channel, data = message[0], message[1:]
            if channel not in announced:
                continue
            skipped = min(announced[channel], len(data))
            announced[channel] -= skipped
            data = data[skipped:]
            if data and channel == _ERROR:
                raise self._failed(data.decode(errors="replace"))
            if data:
                yield data

    def _failed(self, words: str) -> Conflict | Unreachable:
        if any(word in words for word in _REFUSED):
            return Conflict(
                f"nothing of the task listens on port {self._port}",
                hint="it must listen on 127.0.0.1 or on all addresses; `muster logs JOB` may say on which port",
            )
        return Unreachable(f"port {self._port} of the pod cannot be reached: {words.strip()}")


@asynccontextmanager
async def connected_to_pod(connection: Connection, namespace: str, pod: str, port: int) -> AsyncIterator[PodPort]:
    path = PODS.path(namespace, pod, "portforward")
    async with connection.websocket(path, [("ports", str(port))], (_PROTOCOL,)) as socket:
        yield PodPort(socket, port)
