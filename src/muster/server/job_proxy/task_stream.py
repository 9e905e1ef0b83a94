"""A connection to a task in the shape of asyncio's streams, which is what speaks HTTP and WebSockets over it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from muster.domain.errors import MusterError
from muster.ports.capabilities import TaskConnection


class TaskStream:
    """Reader and writer in one. What goes wrong with the connection is a ConnectionResetError."""

    def __init__(self, connection: TaskConnection) -> None:
        self._connection = connection
        self._unsent = bytearray()
        self._pieces: asyncio.Queue[bytes | MusterError] = asyncio.Queue(1)
        self._is_closed = False
        self.error: MusterError | None = None
        """Why the connection was lost, in words for people."""

    async def read(self, n: int = -1) -> bytes:
        """A piece that has come, of any length; nothing at the end."""
        if self._is_closed:
            return b""
        piece = await self._pieces.get()
        if isinstance(piece, MusterError):
            self.error = piece
            raise ConnectionResetError(piece.message)
        if not piece:
            self._is_closed = True
        return piece

    def write(self, data: bytes) -> None:
        self._unsent += data

    async def drain(self) -> None:
        data, self._unsent = bytes(self._unsent), bytearray()
        try:
            await self._connection.send(data)
        except MusterError as error:
            self.error = error
            raise ConnectionResetError(error.message) from error

    def close(self) -> None:
        """End the stream for its reader."""
        self._is_closed = True
        if self._pieces.empty():
            self._pieces.put_nowait(b"")

    async def receive(self) -> None:
        """Passes on what comes, no faster than it is read."""
        try:
            async with aclosing(self._connection.received()) as pieces:
                async for piece in pieces:
                    await self._pieces.put(piece)
            await self._pieces.put(b"")
        except MusterError as error:
            await self._pieces.put(error)


@asynccontextmanager
async def streaming(connection: TaskConnection) -> AsyncIterator[TaskStream]:
    stream = TaskStream(connection)
    receiving = asyncio.create_task(stream.receive())
    try:
        yield stream
    finally:
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
