"""The WebSocket on which a command runs in a task.

The first message of the client is a `TaskExecIn` as text, which the server answers with `started`. Then binary messages
carry bytes behind one byte that names their stream: 0 is input, 1 is output and 2 is errors. Other texts are JSON with
a `type`: `resize` (rows, columns) and `eof` from the client, `end` (exitCode, taskEnded) and `failed` (a problem, as
other errors are answered) from the server, which then closes the connection. The command is killed when it is closed.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response, WebSocket
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.websockets import WebSocketDisconnect

from muster.domain.errors import Invalid, MusterError, NotAuthenticated
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.engine.requests.task_commands import run_in_task
from muster.ports.capabilities import CommandEnd, CommandSession, Terminal
from muster.server.access import Action
from muster.server.problems import problem, problem_of
from muster.server.services import Services, authenticated, services
from muster.server.streams import CHECK_EVERY_S
from muster.server.token_scopes import require_scope
from muster.wire.requests import TaskExecIn

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_STREAMS = {"stdout": _OUTPUT, "stderr": _ERRORS}
_FIRST_MESSAGE_WITHIN_S = 20.0
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
    "columns": 80}}; task and terminal may be left out. The server answers {"type": "started", "task", "tasks"}. After
    that, binary messages begin with a byte for the stream: 0 is input, 1 is output, 2 is errors. The client may send
    {"type": "resize", "rows", "columns"} and {"type": "eof"}. The last message of the server is {"type": "end",
    "exitCode", "taskEnded"}, or {"type": "failed"} with a problem. The command runs in the task's environment, folder
    and isolation, and is killed when the connection is closed. A call by cookie is refused."""
    _require_scope(me, request.url.path)
    await parts.find_job(me, ref, Action.JOB_EXEC)
    response = problem(426, "upgrade-required", "this call is a WebSocket", hint="use `muster exec`")
    response.headers["Upgrade"] = "websocket"
    return response


@router.websocket("/jobs/{ref}/exec")
async def exec_socket(socket: WebSocket, ref: str) -> None:
    parts = socket.app.state.services
    assert isinstance(parts, Services)
    try:
        me = await _principal(parts, socket)
        job = await parts.find_job(me, ref, Action.JOB_EXEC)
        parts.bounds.commands.take(me.name)
    except MusterError as error:
        await socket.send_denial_response(problem_of(error))
        return
    try:
        await socket.accept()
        await _serve(parts, me, job, socket)
    finally:
        parts.bounds.commands.give_back(me.name)


async def _principal(parts: Services, socket: WebSocket) -> Principal:
    """A page of another site can open a WebSocket with the cookie of its visitor, so a cookie is not accepted."""
    scheme, _, secret = socket.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise NotAuthenticated("log in first", hint="send Authorization: Bearer TOKEN")
    principal = await parts.accounts.authenticate(secret.strip())
    _require_scope(principal, socket.url.path)
    return principal


def _require_scope(me: Principal, path: str) -> None:
    """A WebSocket is opened by GET, but a command changes what it wants."""
    require_scope(me.token, "POST", path)


async def _serve(parts: Services, me: Principal, job: Job, socket: WebSocket) -> None:
    try:
        order = await _first_message(socket)
        wanted = order.terminal
        terminal = None if wanted is None else Terminal(wanted.rows, wanted.columns, wanted.kind)
        async with run_in_task(parts.context, job, order.task, order.command, terminal, me.name) as command:
            await _tell(socket, "started", task=command.task.name, tasks=command.tasks)
            await _exchange(parts, me, socket, command.session)
    except MusterError as error:
        told = json.loads(bytes(problem_of(error).body))
        await _tell(socket, "failed", **{key: value for key, value in told.items() if key != "type"})
    except WebSocketDisconnect:
        return
    await socket.close()


async def _first_message(socket: WebSocket) -> TaskExecIn:
    try:
        async with asyncio.timeout(_FIRST_MESSAGE_WITHIN_S):
            return TaskExecIn.model_validate_json(await _text(socket))
    except TimeoutError:
        raise Invalid("no command was sent") from None
    except ValidationError as error:
        raise Invalid(f"the command is not well formed: {error.errors()[0]['msg']}") from None


async def _text(socket: WebSocket) -> str:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    if message.get("text") is None:
        raise Invalid("the first message must be text: the command as JSON")
    return str(message["text"])


async def _exchange(parts: Services, me: Principal, socket: WebSocket, session: CommandSession) -> None:
    """Until the command has ended, the client has gone, or its token is no longer valid."""
    async with _running(_pass_input(socket, session)) as receiving, _running(_pass_output(socket, session)) as sending:
        while True:
            done, _ = await asyncio.wait(
                {receiving, sending}, timeout=CHECK_EVERY_S, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            if done:
                return
            await parts.accounts.recheck(me)


@asynccontextmanager
async def _running(work: Any) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


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
                await _tell(socket, "end", exitCode=piece.exit_code, taskEnded=piece.task_ended)
                return
            for start in range(0, len(piece.data), _PIECE_BYTES):
                await socket.send_bytes(bytes([_STREAMS[piece.stream]]) + piece.data[start : start + _PIECE_BYTES])


async def _tell(socket: WebSocket, kind: str, **told: object) -> None:
    await socket.send_text(json.dumps({"type": kind, **told}, ensure_ascii=False))
