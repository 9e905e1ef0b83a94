"""Runs a command in a container of a pod, with its standard input and output, as `kubectl exec` does."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from muster.domain.errors import BackendError, Unreachable
from muster.kubernetes.connection import Connection, Upgraded
from muster.kubernetes.resources import PODS
from muster.kubernetes.web_socket import BINARY, CLOSE, PING, PONG, SocketDecoder, SocketError, encoded, handshake

_PROTOCOL = "v4.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR = range(4)
"""The first byte of each message says what it belongs to."""
_SENT_BYTES = 32 << 10
_STDERR_BYTES = 2000


class PodCommand:
    """A command that runs. Its end raises BackendError unless it was a good one."""

    def __init__(self, stream: Upgraded) -> None:
        self._stream = stream
        self._decoder = SocketDecoder()
        self._stderr = b""

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), _SENT_BYTES):
            piece = data[start : start + _SENT_BYTES]
            await self._stream.write(encoded(BINARY, bytes((_STDIN,)) + piece))

    async def output(self) -> AsyncIterator[bytes]:
        """What the command prints, until it ends."""
        while data := await self._stream.read():
            try:
                messages = self._decoder.feed(data)
            except SocketError as error:
                raise Unreachable(f"the connection to the container is broken: {error}") from None
            for kind, payload in messages:
                if kind == PING:
                    await self._stream.write(encoded(PONG, payload))
                elif kind == CLOSE:
                    return
                elif payload[:1] == bytes((_STDOUT,)):
                    yield payload[1:]
                elif payload[:1] == bytes((_STDERR,)):
                    self._stderr = (self._stderr + payload[1:])[-_STDERR_BYTES:]
                elif payload[:1] == bytes((_ERROR,)) and len(payload) > 1:
                    self._check(payload[1:])
                    return

    def _check(self, status: bytes) -> None:
        try:
            told: Any = json.loads(status)
        except ValueError:
            told = {}
        if isinstance(told, dict) and told.get("status") == "Success":
            return
        words = self._stderr.decode(errors="replace").strip().splitlines()
        message = str(told.get("message") or "") if isinstance(told, dict) else ""
        raise BackendError(f"a command in the pod failed: {(words or [message])[-1]}", reason="exec")


@asynccontextmanager
async def executing(
    connection: Connection, namespace: str, pod: str, container: str, argv: Sequence[str]
) -> AsyncIterator[PodCommand]:
    """Nothing secret may be in `argv`: the API server's audit log has it."""
    asked = [("container", container), ("stdin", "true"), ("stdout", "true"), ("stderr", "true")]
    query = urlencode([*asked, *(("command", word) for word in argv)])
    path = f"{PODS.path(namespace, pod, 'exec')}?{query}"
    async with connection.upgraded(path, handshake(_PROTOCOL)) as stream:
        yield PodCommand(stream)
