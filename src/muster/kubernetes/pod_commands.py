"""A command in a container of a pod: the channels of `pods/exec` on a WebSocket.

Every message begins with a byte for its channel. Version 5 of the protocol can close one channel; version 4, of API
servers before 1.30, cannot, so that a command there never sees the end of its input.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from httpx2.websockets import AsyncWebSocketSession, WebSocketDisconnect, WebSocketNetworkError
from wsproto.utilities import LocalProtocolError

from muster.domain.errors import Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import error_of
from muster.kubernetes.resources import PODS

STDIN, STDOUT, STDERR, STATUS, RESIZE = range(5)
_CLOSE = 255
_V5, _V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
_CTRL_D = b"\x04"
_SENT_BYTES = 32 << 10


@dataclass(frozen=True, slots=True)
class PodOutput:
    """`channel` is STDOUT or STDERR."""

    channel: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PodCommandEnd:
    exit_code: int


class PodCommand:
    def __init__(self, socket: AsyncWebSocketSession, *, has_terminal: bool) -> None:
        self._socket = socket
        self._has_terminal = has_terminal

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _SENT_BYTES):
            await self._send(STDIN, data[start : start + _SENT_BYTES])

    async def end_input(self) -> None:
        if self._has_terminal:
            await self._send(STDIN, _CTRL_D)
        elif self._socket.subprotocol == _V5:
            await self._send(_CLOSE, bytes([STDIN]))

    async def resize(self, rows: int, columns: int) -> None:
        if self._has_terminal:
            await self._send(RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())

    async def receive(self) -> PodOutput | PodCommandEnd:
        """Raises Unreachable if the connection ends before the command."""
        while True:
            try:
                message = await self._socket.receive_bytes()
            except (WebSocketDisconnect, WebSocketNetworkError) as error:
                raise Unreachable("the API server closed the connection before the command ended") from error
            channel, data = message[0], message[1:]
            if channel in (STDOUT, STDERR) and data:
                return PodOutput(channel, data)
            if channel == STATUS:
                return _end(json.loads(data))

    async def _send(self, channel: int, data: bytes) -> None:
        """What is sent to a command that has ended is dropped: its end is still to be read."""
        try:
            await self._socket.send_bytes(bytes([channel]) + data)
        except (WebSocketDisconnect, WebSocketNetworkError, LocalProtocolError):
            pass


@asynccontextmanager
async def run_in_pod(
    connection: Connection,
    namespace: str,
    pod: str,
    container: str,
    argv: Sequence[str],
    terminal: tuple[int, int] | None = None,
) -> AsyncIterator[PodCommand]:
    """`terminal` has rows and columns. Nothing secret may be in `argv`: the API server's audit log has it. Kubernetes
    kills nothing when this is left."""
    has_terminal = terminal is not None
    params: list[tuple[str, str]] = [("container", container), ("stdin", "true"), ("stdout", "true")]
    params += [("tty", "true")] if has_terminal else [("stderr", "true")]
    params += [("command", word) for word in argv]
    path = PODS.path(namespace, pod, "exec")
    async with connection.websocket(path, params, (_V5, _V4)) as socket:
        command = PodCommand(socket, has_terminal=has_terminal)
        if terminal is not None:
            await command.resize(*terminal)
        yield command


def _end(status: Mapping[str, Any]) -> PodCommandEnd:
    if status.get("status") == "Success":
        return PodCommandEnd(0)
    for cause in (status.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode" and str(cause.get("message")).isdigit():
            return PodCommandEnd(int(cause["message"]))
    raise error_of(int(status.get("code") or 500), status)
