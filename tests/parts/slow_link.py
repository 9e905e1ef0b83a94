"""A bad line to a host, for tests: a TCP relay on this machine that is slow, narrow, holds bytes back or hangs up.

`with SlowLink(host.address, host.port, delay_s=0.15) as link:` and a node with `host: 127.0.0.1` and `port: link.port`.
What it is may be changed at any time. It loses no byte but those that are on their way when it hangs up.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 8 << 10
_QUEUED = 256
"""Chunks that are held each way before whoever sends has to wait: much, as on lines that are bad in earnest."""
_SOCKET_BYTES = 32 << 10
_HANG_UP = struct.pack("ii", 1, 0)
_WITHIN_S = 30.0


@dataclass(eq=False)
class _Way:
    """One direction of the link. Its connections share the bandwidth."""

    passed: int = 0
    free_at: float = 0.0


@dataclass(eq=False)
class _Connection:
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    passed: int = 0

    def hang_up(self) -> None:
        """Resets both ends."""
        for writer in self.writers:
            made = writer.get_extra_info("socket")
            if made is not None and not writer.transport.is_closing():
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _HANG_UP)
            writer.transport.abort()


class SlowLink:
    def __init__(self, host: str, port: int, *, delay_s: float = 0.0) -> None:
        self._target = host, port
        self.delay_s = delay_s
        """The delay in one direction."""
        self.bytes_per_s: float | None = None
        """The bandwidth in each direction."""
        self.reset_every: int | None = None
        """A connection is reset after this many bytes in both directions together."""
        self.resets = 0
        self.connections = 0
        self._up, self._down = _Way(), _Way()
        self._open: set[_Connection] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
        self.port = int(self._listening.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"slow link {self.port}", daemon=True)

    def __enter__(self) -> Self:
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._thread.start()
        serving = asyncio.start_server(self._serve, sock=self._listening)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result(_WITHIN_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_WITHIN_S)
        self._loop.close()

    @property
    def sent(self) -> int:
        """The number of bytes sent to the host."""
        return self._up.passed

    @property
    def received(self) -> int:
        """The number of bytes received from the host."""
        return self._down.passed

    def mend(self) -> None:
        """Makes the link perfect."""
        self.delay_s, self.bytes_per_s, self.reset_every = 0.0, None, None
        self._loop.call_soon_threadsafe(self._flowing.set)

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Holds back all bytes and new connections, and passes them on afterwards."""
        self._loop.call_soon_threadsafe(self._flowing.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._flowing.set)

    def stall(self, seconds: float) -> None:
        """Holds everything back for a while, and returns when it is over."""
        over = threading.Event()
        with self.stalled():
            self._loop.call_soon_threadsafe(self._loop.call_later, seconds, over.set)
            assert over.wait(seconds + _WITHIN_S)

    def reset(self) -> None:
        """Closes all connections once."""
        self._loop.call_soon_threadsafe(self._reset_all)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection([writer])
        self._open.add(connection)
        self.connections += 1
        try:
            onward, back = await asyncio.open_connection(*self._target)
            connection.writers.append(back)
            ways = [(reader, back, self._up), (onward, writer, self._down)]
            await asyncio.gather(*(self._carry(connection, *way) for way in ways))
        except OSError:
            pass  # the host does not listen, which the client must see too
        finally:
            self._open.discard(connection)
            for each in connection.writers:
                each.close()

    async def _carry(
        self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way
    ) -> None:
        """Copies bytes from one end to the other until that end closes."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_QUEUED)
        delivering = asyncio.create_task(self._deliver(connection, queue, writer, way))
        with suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                await queue.put((self._loop.time() + self.delay_s, data))
        await queue.put((self._loop.time() + self.delay_s, b""))
        await delivering

    async def _deliver(
        self,
        connection: _Connection,
        queue: "asyncio.Queue[tuple[float, bytes]]",
        writer: asyncio.StreamWriter,
        way: _Way,
    ) -> None:
        while True:
            due, data = await queue.get()
            await asyncio.sleep(due - self._loop.time())
            await self._turn(way, len(data))
            await self._flowing.wait()
            if not data:
                break
            if writer.transport.is_closing():
                continue  # the other end has closed; the sender may finish
            with suppress(OSError):
                writer.write(data)
                way.passed += len(data)
                connection.passed += len(data)
                if self.reset_every is not None and connection.passed >= self.reset_every:
                    self._reset(connection)
                await writer.drain()
        if not writer.transport.is_closing():
            with suppress(OSError):
                writer.write_eof()

    async def _turn(self, way: _Way, size: int) -> None:
        if self.bytes_per_s is None:
            return
        begins = max(way.free_at, self._loop.time())
        way.free_at = begins + size / self.bytes_per_s
        await asyncio.sleep(way.free_at - self._loop.time())

    def _reset_all(self) -> None:
        for connection in list(self._open):
            self._reset(connection)

    def _reset(self, connection: _Connection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            self.resets += 1
            connection.hang_up()

    async def _close(self) -> None:
        self._server.close()
        for connection in list(self._open):
            connection.hang_up()
        everybody = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in everybody:
            task.cancel()
        await asyncio.gather(*everybody, return_exceptions=True)
