"""What the WebSockets to a running task have in common: who may open one, its first message, and its end."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import WebSocket
from pydantic import BaseModel, ValidationError
from starlette.websockets import WebSocketDisconnect

from muster.domain.errors import Invalid, MusterError, NotAuthenticated
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.server.access import Action
from muster.server.bounds import Bound, Bounds
from muster.server.problems import problem_of
from muster.server.services import Services
from muster.server.token_scopes import require_scope
from muster.server.token_watch import CHECK_EVERY_S

_FIRST_MESSAGE_WITHIN_S = 20.0
Serve = Callable[[Services, Principal, Job, WebSocket], Awaitable[None]]
Order = TypeVar("Order", bound=BaseModel)


async def serve_socket(
    socket: WebSocket, ref: str, bound_of: Callable[[Bounds], Bound], serve: Serve, action: Action = Action.JOB_EXEC
) -> None:
    """Serve it for people who may do this, by default run commands in the job, so many at once as the bound allows."""
    parts = socket.app.state.services
    assert isinstance(parts, Services)
    bound = bound_of(parts.bounds)
    try:
        me = await _principal(parts, socket)
        job = await parts.find_job(me, ref, action)
        bound.take(me.name)
    except MusterError as error:
        await socket.send_denial_response(problem_of(error))
        return
    try:
        await socket.accept()
        await _served(parts, me, job, socket, serve)
    except WebSocketDisconnect:
        return  # the client has gone, perhaps while it was told that something failed
    finally:
        bound.give_back(me.name)


def require_change(me: Principal, path: str) -> None:
    """A WebSocket is opened by GET, but whoever uses it changes what they want."""
    require_scope(me.token, "POST", path)


async def first_message(socket: WebSocket, model: type[Order], what: str) -> Order:
    try:
        async with asyncio.timeout(_FIRST_MESSAGE_WITHIN_S):
            return model.model_validate_json(await _text(socket, what))
    except TimeoutError:
        raise Invalid(f"no {what} was sent") from None
    except ValidationError as error:
        raise Invalid(f"the {what} is not well formed: {error.errors()[0]['msg']}") from None


async def exchange(
    parts: Services, me: Principal, receiving: Coroutine[Any, Any, None], sending: Coroutine[Any, Any, None]
) -> None:
    """Passes on until one of both has ended, the client has gone, or its token is no longer valid."""
    async with _running(receiving) as one, _running(sending) as other:
        while True:
            done, _ = await asyncio.wait({one, other}, timeout=CHECK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if done:
                return
            await parts.accounts.recheck(me)


async def tell(socket: WebSocket, kind: str, **told: object) -> None:
    await socket.send_text(json.dumps({"type": kind, **told}, ensure_ascii=False))


async def _principal(parts: Services, socket: WebSocket) -> Principal:
    """A page of another site can open a WebSocket with the cookie of its visitor, so a cookie is not accepted."""
    scheme, _, secret = socket.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise NotAuthenticated("log in first", hint="send Authorization: Bearer TOKEN")
    principal = await parts.accounts.authenticate(secret.strip())
    require_change(principal, socket.url.path)
    return principal


async def _served(parts: Services, me: Principal, job: Job, socket: WebSocket, serve: Serve) -> None:
    try:
        await serve(parts, me, job, socket)
    except MusterError as error:
        told = json.loads(bytes(problem_of(error).body))
        await tell(socket, "failed", **{key: value for key, value in told.items() if key != "type"})
    await socket.close()


async def _text(socket: WebSocket, what: str) -> str:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    if message.get("text") is None:
        raise Invalid(f"the first message must be text: the {what} as JSON")
    return str(message["text"])


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
