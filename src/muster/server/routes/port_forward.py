"""The WebSocket that is one TCP connection to a port of a task.

The first message of the client is a `PortForwardIn` as text, which the server answers with `started`. Then binary
messages carry the bytes of both directions. Other texts are JSON with a `type`: `eof`, of either side, says that it
sends no more, and `failed` (a problem, as other errors are answered) is the last message of a server that cannot go on.
"""

import asyncio
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response, WebSocket
from pydantic import BaseModel, ValidationError
from starlette.websockets import WebSocketDisconnect

from muster.domain.errors import Invalid
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.engine.requests.task_connections import connected_to_task
from muster.ports.capabilities import TaskConnection
from muster.server.access import Action
from muster.server.problems import upgrade_required
from muster.server.services import Services, authenticated, services
from muster.server.task_sockets import exchange, first_message, require_change, serve_socket, tell
from muster.wire.requests import PortForwardIn

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_PIECE_BYTES = 256 << 10
_UPGRADE: dict[int | str, dict[str, Any]] = {101: {"description": "A WebSocket, which is the connection."}}


class _EndOfInput(BaseModel):
    type: Literal["eof"]


@router.get(
    "/jobs/{ref}/port-forward",
    status_code=101,
    response_class=Response,
    responses=_UPGRADE,
    summary="Connect to a port of a task, on a WebSocket",
)
async def port_forward(request: Request, ref: str, me: Me, parts: Parts) -> Response:
    """Send the port as the first message: {"port": 8888, "task": "worker-0"}; task may be left out. The server answers
    {"type": "started", "task", "tasks"}. After that, binary messages carry the bytes of both directions, and
    {"type": "eof"} of either side says that it sends no more. {"type": "failed"} with a problem is the last message if
    something goes wrong. Every WebSocket is one TCP connection. Only ports on which processes of that task listen can
    be reached. A call by cookie is refused."""
    require_change(me, request.url.path)
    await parts.find_job(me, ref, Action.JOB_CONNECT)
    return upgrade_required("use `muster port-forward`")


@router.websocket("/jobs/{ref}/port-forward")
async def port_forward_socket(socket: WebSocket, ref: str) -> None:
    await serve_socket(socket, ref, lambda bounds: bounds.task_connections, _serve, Action.JOB_CONNECT)


async def _serve(parts: Services, me: Principal, job: Job, socket: WebSocket) -> None:
    order = await first_message(socket, PortForwardIn, "port")
    opening = connected_to_task(parts.context, job, order.task, order.port, me.name, parts.recent_forwards)
    async with opening as opened:
        await tell(socket, "started", task=opened.task.name, tasks=opened.tasks)
        has_ended = asyncio.Event()
        passing_on = _pass_on(socket, opened.connection, has_ended)
        await exchange(parts, me, passing_on, _pass_back(socket, opened.connection, has_ended))


async def _pass_on(socket: WebSocket, connection: TaskConnection, has_ended: asyncio.Event) -> None:
    """Reads no more from the client than the task takes. Raises WebSocketDisconnect when the client has gone."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        if (data := message.get("bytes")) is not None:
            if not has_ended.is_set():
                await connection.send(data)
            continue
        try:
            _EndOfInput.model_validate_json(message["text"])
        except ValidationError:
            raise Invalid("a message is neither bytes nor eof") from None
        await connection.end_input()
        has_ended.set()


async def _pass_back(socket: WebSocket, connection: TaskConnection, has_ended: asyncio.Event) -> None:
    """Ends when both sides have ended."""
    async with aclosing(connection.received()) as pieces:
        async for piece in pieces:
            for start in range(0, len(piece), _PIECE_BYTES):
                await socket.send_bytes(piece[start : start + _PIECE_BYTES])
    await tell(socket, "eof")
    await has_ended.wait()
