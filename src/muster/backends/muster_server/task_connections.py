"""Connections to ports of tasks on the other server, as `muster port-forward` has them."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import Find
from muster.backends.muster_server.task_sockets import TaskSocket, task_socket
from muster.ports.capabilities import TaskConnection, TaskRef

_PIECE_BYTES = 64 << 10


class OtherConnections:
    """Implements `ports.capabilities.TaskConnections`."""

    def __init__(self, server: OtherServer, find: Find) -> None:
        self._server, self._find = server, find

    @asynccontextmanager
    async def connect(self, task: TaskRef, port: int) -> AsyncIterator[TaskConnection]:
        async with task_socket(self._server, self._find, task, "port-forward", port=port) as socket:
            yield _Connection(socket)


class _Connection:
    def __init__(self, socket: TaskSocket) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(data[start : start + _PIECE_BYTES])

    async def end_input(self) -> None:
        await self._socket.tell(type="eof")

    async def received(self) -> AsyncGenerator[bytes]:
        while True:
            told = await self._socket.receive()
            if isinstance(told, bytes):
                yield told
            elif told.get("type") == "eof":
                return
