"""The WebSockets on which a command runs in a task, and which are attached to a task.

The first message of the client is a `TaskExecIn` or a `TaskAttachIn` as text, which the server answers with `started`.
Then binary messages carry bytes behind one byte that names their stream: 0 is input, 1 is output and 2 is errors. Other
texts are JSON with a `type`: `resize` (rows, columns) and `eof` from the client, `end` (exitCode, taskEnded) and
`failed` (a problem, as other errors are answered) from the server, which then closes the connection. When it is closed,
a command is killed, and a task goes on.
"""

from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response, WebSocket
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.websockets import WebSocketDisconnect

from muster.domain.errors import Invalid
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.engine.requests.task_commands import OpenCommand, attach_to_task, run_in_task
from muster.ports.capabilities import CommandEnd, CommandSession, Terminal
from muster.server.access import Action
from muster.server.problems import upgrade_required
from muster.server.services import Services, authenticated, services
from muster.server.task_sockets import exchange, first_message, require_change, serve_socket, tell
from muster.wire.requests import TaskAttachIn, TaskExecIn, TerminalIn

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_STREAMS = {"stdout": _OUTPUT, "stderr": _ERRORS}
_PIECE_BYTES = 64 << 10
_UPGRADE: dict[int | str, dict[str, Any]] = {101: {"description": "A WebSocket, on which the command runs."}}


class _Resize(BaseModel):
    type: Literal["resize"]
    rows: Annotated[int, Query(ge=1, le=10_000)]
    columns: Annotated[int, Query(ge=1, le=10_000)]


class _EndOfInput(BaseModel):
    type: Literal["eof"]


_CONTROL: TypeAdapter[_Resize | _EndOfInput] = TypeAdapter(_Resize | _EndOfInput)


@router.get(
    "/jobs/{ref}/exec",
    status_code=101,
    response_class=Response,
    responses=_UPGRADE,
    summary="Run a command in a task, on a WebSocket",
)
async def exec_in_task(request: Request, ref: str, me: Me, parts: Parts) -> Response:
    """Send the command as the first message: {"command": ["nvidia-smi"], "task": "worker-0", "terminal": {"rows": 24,
    "columns": 80}}; task and terminal may be left out. The server answers {"type": "started", "task", "tasks",
    "terminal"}. After that, binary messages begin with a byte for the stream: 0 is input, 1 is output, 2 is errors. The
    client may send {"type": "resize", "rows", "columns"} and {"type": "eof"}. The last message of the server is
    {"type": "end", "exitCode", "taskEnded"}, or {"type": "failed"} with a problem. The command runs in the task's
    environment, folder and isolation, and is killed when the connection is closed. A call by cookie is refused."""
    require_change(me, request.url.path)
    await parts.find_job(me, ref, Action.JOB_EXEC)
    return upgrade_required("use `muster exec`")


@router.websocket("/jobs/{ref}/exec")
async def exec_socket(socket: WebSocket, ref: str) -> None:
    await serve_socket(socket, ref, lambda bounds: bounds.commands, _serve_command)


@router.get(
    "/jobs/{ref}/attach",
    status_code=101,
    response_class=Response,
    responses={101: {"description": "A WebSocket, which is attached to the task."}},
    summary="Attach to a task, on a WebSocket",
)
async def attach(request: Request, ref: str, me: Me, parts: Parts) -> Response:
    """Attach to a task whose role has `stdin`. Send {"task": "worker-0", "terminal": {"rows": 24, "columns": 80},
    "tail": 50} as the first message, of which everything may be left out. What follows is the protocol of `exec`: your
    input goes to the task, and the output of the task comes to you, beginning with its last lines. The task goes on
    when the connection is closed. If the task ends, `exitCode` is its own. A call by cookie is refused."""
    require_change(me, request.url.path)
    await parts.find_job(me, ref, Action.JOB_ATTACH)
    return upgrade_required("use `muster attach`")


@router.websocket("/jobs/{ref}/attach")
async def attach_socket(socket: WebSocket, ref: str) -> None:
    await serve_socket(socket, ref, lambda bounds: bounds.commands, _serve_attachment, Action.JOB_ATTACH)


async def _serve_command(parts: Services, me: Principal, job: Job, socket: WebSocket) -> None:
    order = await first_message(socket, TaskExecIn, "command")
    terminal = _terminal(order.terminal)
    async with run_in_task(parts.context, job, order.task, order.command, terminal, me.name) as opened:
        await _serve(parts, me, socket, opened)


async def _serve_attachment(parts: Services, me: Principal, job: Job, socket: WebSocket) -> None:
    order = await first_message(socket, TaskAttachIn, "task")
    terminal = _terminal(order.terminal)
    async with attach_to_task(parts.context, job, order.task, order.tail, terminal, me.name) as opened:
        await _serve(parts, me, socket, opened)


async def _serve(parts: Services, me: Principal, socket: WebSocket, opened: OpenCommand) -> None:
    await tell(socket, "started", task=opened.task.name, tasks=opened.tasks, terminal=opened.has_terminal)
    await exchange(parts, me, _pass_input(socket, opened.session), _pass_output(socket, opened.session))


def _terminal(wanted: TerminalIn | None) -> Terminal | None:
    return None if wanted is None else Terminal(wanted.rows, wanted.columns, wanted.kind)


async def _pass_input(socket: WebSocket, session: CommandSession) -> None:
    """Reads no more from the client than the command takes. Raises WebSocketDisconnect when the client has gone."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        if (data := message.get("bytes")) is not None:
            if data[:1] == bytes([_INPUT]):
                await session.send(data[1:])
            continue
        try:
            control = _CONTROL.validate_json(message["text"])
        except ValidationError:
            raise Invalid("a message is neither input, nor resize, nor eof") from None
        if isinstance(control, _Resize):
            await session.resize(control.rows, control.columns)
        else:
            await session.end_input()


async def _pass_output(socket: WebSocket, session: CommandSession) -> None:
    async with aclosing(session.output()) as pieces:
        async for piece in pieces:
            if isinstance(piece, CommandEnd):
                await tell(socket, "end", exitCode=piece.exit_code, taskEnded=piece.task_ended)
                return
            for start in range(0, len(piece.data), _PIECE_BYTES):
                await socket.send_bytes(bytes([_STREAMS[piece.stream]]) + piece.data[start : start + _PIECE_BYTES])
