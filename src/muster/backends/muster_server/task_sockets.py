"""A WebSocket to a task on the other server: its first message, and what becomes of it when the server says no."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from httpx2.websockets import AsyncWebSocketSession, WebSocketDisconnect, WebSocketNetworkError
from wsproto.events import BytesMessage, TextMessage
from wsproto.utilities import LocalProtocolError

from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import Find
from muster.domain.errors import BackendError, Conflict, NotFound, Rejected, Unreachable
from muster.domain.failures.exit_causes import REFUSED
from muster.ports.capabilities import TaskRef

_MESSAGE_LENGTH = 4 << 20
_UNREACHABLE = ("unavailable", "backend-error", "storage-full", "too-many-requests")


class TaskSocket:
    def __init__(self, socket: AsyncWebSocketSession) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        """What is sent to one who takes no more is dropped: the end is still to be read."""
        try:
            await self._socket.send_bytes(data)
        except (WebSocketDisconnect, WebSocketNetworkError, LocalProtocolError):
            pass

    async def tell(self, **message: object) -> None:
        try:
            await self._socket.send_text(json.dumps(message))
        except (WebSocketDisconnect, WebSocketNetworkError, LocalProtocolError):
            pass

    async def receive(self) -> bytes | dict[str, Any]:
        """Bytes, or what the server says. Raises what it says if it cannot go on."""
        parts: list[bytes] = []
        texts: list[str] = []
        left = _MESSAGE_LENGTH
        while True:
            try:
                event = await self._socket.receive()
            except (WebSocketDisconnect, WebSocketNetworkError) as error:
                raise Unreachable("the other server closed the connection to the task") from error
            if isinstance(event, BytesMessage | TextMessage):
                left -= len(event.data)
            if left < 0:
                raise Unreachable("the other server sent a longer message than there is")
            if isinstance(event, BytesMessage):
                parts.append(bytes(event.data))
                if event.message_finished:
                    return b"".join(parts)
            elif isinstance(event, TextMessage):
                texts.append(event.data)
                if event.message_finished:
                    return _checked(_read("".join(texts)))


@asynccontextmanager
async def task_socket(
    server: OtherServer, find: Find, task: TaskRef, what: str, **order: object
) -> AsyncIterator[TaskSocket]:
    """A socket on which the order was given and has begun. `what` is the last part of the path."""
    try:
        job = await find(task)
        _, role, index = task.task_id.rsplit(".", 2)
    except (NotFound, ValueError):
        raise Conflict("the task is not known to the other server") from None
    async with server.websocket(f"/jobs/{job}/{what}") as opened:
        socket = TaskSocket(opened)
        await socket.tell(**{"task": f"{role}-{index}", **order})
        answer = await socket.receive()
        if isinstance(answer, bytes) or answer.get("type") != "started":
            raise BackendError("the other server did not say that it has begun")
        yield socket


def _read(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise Unreachable("what the other server said of the task cannot be read")
    return told


def _checked(told: dict[str, Any]) -> dict[str, Any]:
    if told.get("type") != "failed":
        return told
    code, message, hint = (str(told.get(key) or "") for key in ("code", "detail", "hint"))
    if code in _UNREACHABLE:
        raise Unreachable(message, hint=hint)
    if code in ("conflict", "not-found"):
        raise Conflict(message, hint=hint)
    raise Rejected(message, hint=hint, reason=REFUSED)
