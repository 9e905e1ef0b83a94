"""Passes a WebSocket on, message by message: from a standby to the server that holds the lease, or to a job."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from muster.server.http_exchange import LAST_STATUS, Headers, Reader, Writer
from muster.server.passed_on import target_of

_READ_BYTES = 1 << 16
_GONE = 1012
_MOST_MESSAGE_BYTES = 64 << 20


class SocketExchange:
    """`passed_back` says which headers of a refusal the client gets."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        reader: Reader,
        writer: Writer,
        passed_back: Callable[[Headers], Headers],
    ) -> None:
        self._receive = receive
        self._send = send
        self._reader = reader
        self._writer = writer
        self._passed_back = passed_back
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._is_accepted = False
        self._parts: list[Any] = []
        self._size = 0

    async def run(self, scope: Scope, host: str, headers: list[tuple[bytes, bytes]]) -> None:
        try:
            await self._receive()  # the client asks to connect
            target, protocols = target_of(scope).decode(), list(scope.get("subprotocols") or ())
            await self._write(Request(host=host, target=target, extra_headers=headers, subprotocols=protocols))
            work = {asyncio.create_task(self._pass_answers()), asyncio.create_task(self._pass_messages())}
            try:
                done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in work:
                    task.cancel()
                await asyncio.wait(work)
            for task in done:
                task.result()
        except (OSError, ProtocolError):
            if self._is_accepted:
                await self._send({"type": "websocket.close", "code": _GONE})
            else:
                await self._send({"type": "websocket.http.response.start", "status": 503, "headers": []})
                await self._send({"type": "websocket.http.response.body", "body": b""})
        finally:
            self._writer.close()

    async def _pass_messages(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("bytes")
            await self._write(TextMessage(message["text"]) if data is None else BytesMessage(data))

    async def _pass_answers(self) -> None:
        while True:
            data = await self._reader.read(_READ_BYTES)
            self._protocol.receive_data(data or None)
            for event in self._protocol.events():
                if await self._pass(event):
                    return
            if not data:
                raise ConnectionResetError

    async def _pass(self, event: Any) -> bool:
        """Whether it was the last."""
        if isinstance(event, Ping):
            await self._write(event.response())
        elif isinstance(event, AcceptConnection):
            self._is_accepted = True
            await self._send({"type": "websocket.accept", "subprotocol": event.subprotocol})
        elif isinstance(event, RejectConnection):
            if event.status_code > LAST_STATUS:
                raise ConnectionResetError("there is no such status")
            told = [(bytes(name), bytes(value)) for name, value in event.headers]
            headers = [one for one in self._passed_back(told) if one[0] != b"content-length"]
            start: Message = {"type": "websocket.http.response.start", "status": event.status_code, "headers": headers}
            await self._send(start)
            if not event.has_body:
                await self._send({"type": "websocket.http.response.body", "body": b""})
                return True
        elif isinstance(event, RejectData):
            body = {"body": bytes(event.data), "more_body": not event.body_finished}
            await self._send({"type": "websocket.http.response.body", **body})
            return event.body_finished
        elif isinstance(event, BytesMessage | TextMessage):
            self._parts.append(event.data)
            self._size += len(event.data)
            if self._size > _MOST_MESSAGE_BYTES:
                raise ConnectionResetError("a message is too long")
            if event.message_finished:
                parts, self._parts, self._size = self._parts, [], 0
                joined = {"bytes": b"".join(parts)} if isinstance(event, BytesMessage) else {"text": "".join(parts)}
                await self._send({"type": "websocket.send", **joined})
        elif isinstance(event, CloseConnection):
            await self._send({"type": "websocket.close", "code": event.code})
            return True
        return False

    async def _write(self, event: Any) -> None:
        self._writer.write(self._protocol.send(event))
        await self._writer.drain()
