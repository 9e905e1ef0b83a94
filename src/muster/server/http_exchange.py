"""One HTTP request that is passed on over a connection of its own, and its answer, both piece by piece."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import h11
from starlette.types import Receive, Scope, Send

from muster.server.passed_on import target_of

Headers = Sequence[tuple[bytes, bytes]]
_READ_BYTES = 1 << 16
_MOST_HEAD_BYTES = 256 << 10
_SAFE = ("GET", "HEAD")
LAST_STATUS = 599
_WITHOUT_BODY = (204, 304)


class Reader(Protocol):
    async def read(self, n: int = -1, /) -> bytes: ...


class Writer(Protocol):
    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...
    def close(self) -> None: ...


class HttpExchange:
    """The other side gets `Connection: close`, so that no request can follow on the same connection. Both sides are
    parsed and written anew, so that what one of them reads as two requests is never passed on as one."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, reader: Reader, writer: Writer) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)
        self._has_answer_begun = False

    async def run(
        self, headers: Headers, passed_back: Callable[[Headers], Headers], refused: Callable[[], Awaitable[None]]
    ) -> None:
        """`refused` answers if the other side does not. The connection of an answer that ends too early is closed,
        which tells the caller that it is not complete."""
        async with self._sending(headers):
            try:
                await self._pass_answer(passed_back)
            except (OSError, h11.RemoteProtocolError):
                if not self._has_answer_begun:
                    await refused()

    @asynccontextmanager
    async def _sending(self, headers: Headers) -> AsyncIterator[None]:
        """The request is sent while the answer may already come, and the caller may leave at any time."""
        sending = asyncio.create_task(self._send_request(headers))
        try:
            yield
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send_request(self, headers: Headers) -> None:
        try:
            await self._write(self._request(headers))
            is_complete = False
            while not is_complete:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    self._writer.close()
                    return
                is_complete = not message.get("more_body", False)
                if body := message.get("body", b""):
                    await self._write(h11.Data(data=body))
            await self._write(h11.EndOfMessage())
            while (await self._receive())["type"] != "http.disconnect":
                pass
        except (OSError, h11.LocalProtocolError):
            pass
        self._writer.close()  # the caller has left, or the other side takes no more

    def _request(self, passed: Headers) -> h11.Request:
        scope, headers = self._scope, list(passed)
        is_sized = any(name == b"content-length" for name, _ in headers)
        is_chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        if not is_sized and (is_chunked or scope["method"] not in _SAFE):
            headers.append((b"transfer-encoding", b"chunked"))
        headers.append((b"connection", b"close"))
        return h11.Request(method=scope["method"], target=target_of(scope), headers=headers)

    async def _write(self, event: h11.Event) -> None:
        if data := self._protocol.send(event):
            self._writer.write(data)
            await self._writer.drain()

    async def _pass_answer(self, passed_back: Callable[[Headers], Headers]) -> None:
        while True:
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                self._protocol.receive_data(await self._reader.read(_READ_BYTES))
            elif isinstance(event, h11.Response):
                if event.status_code > LAST_STATUS:
                    raise h11.RemoteProtocolError("there is no such status")
                headers = list(passed_back(_well_framed(event)))
                self._has_answer_begun = True
                await self._send({"type": "http.response.start", "status": event.status_code, "headers": headers})
            elif isinstance(event, h11.Data):
                await self._send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                await self._send({"type": "http.response.body", "body": b""})
                return
            elif isinstance(event, h11.ConnectionClosed):
                raise ConnectionResetError("the connection was closed before the answer was complete")


def _well_framed(answer: h11.Response) -> Headers:
    """The headers without a Content-Length that does not hold: the body is chunked, or there is none."""
    is_chunked = any(name == b"transfer-encoding" for name, _ in answer.headers)
    is_sized = not is_chunked and answer.status_code not in _WITHOUT_BODY
    return [(name, value) for name, value in answer.headers if is_sized or name != b"content-length"]
