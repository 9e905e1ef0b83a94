"""The application as a whole, whose inside changes when this server gets the lease or loses it.

Requests that are under way when the role changes are cut: those that nobody has begun to work on go to the new role,
all others are answered with 503, and their callers send them again.
"""

import asyncio
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from muster.server.problems import problem, retry_later

UNTOUCHED = "muster.untouched"
"""Set in the scope of a request by a role that has neither read its body nor answered it yet."""
_RETRY_AFTER_S = 1


class RoleSwitch:
    def __init__(self) -> None:
        self._app: ASGIApp = answer_unavailable
        self._running: set[asyncio.Task[Any]] = set()

    def use(self, app: ASGIApp) -> None:
        """Change the role. The requests of the role before are cut."""
        self._app = app
        cut, self._running = self._running, set()
        for task in cut:
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        while True:
            app, running = self._app, self._running
            running.add(task)
            try:
                return await app(scope, receive, send)
            except asyncio.CancelledError:
                if app is self._app:
                    raise
                task.uncancel()
                if not scope.pop(UNTOUCHED, False):
                    return await _cut(scope, receive, send)
            finally:
                running.discard(task)


async def answer_unavailable(scope: Scope, receive: Receive, send: Send) -> None:
    """The role of a server that has none yet, because it starts or its database is away."""
    if scope["type"] not in ("http", "websocket"):
        return
    if scope["path"] == "/healthz":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"ok\n"})
        return
    await unavailable("the server is not ready yet")(scope, receive, send)


def unavailable(why: str, hint: str = "send the request again") -> JSONResponse:
    return retry_later(problem(503, "unavailable", why, hint=hint), _RETRY_AFTER_S)


def unsure(why: str) -> JSONResponse:
    """The answer to a request that may have been carried out."""
    hint = "send the request again, with the same Idempotency-Key if it had one"
    return retry_later(problem(503, "unavailable", why, hint=hint, mayHaveHappened=True), _RETRY_AFTER_S)


async def _cut(scope: Scope, receive: Receive, send: Send) -> None:
    response = unsure("another server takes over; the request may have been carried out")
    try:
        await response(scope, receive, send)
    except RuntimeError:
        return  # its answer had begun, so the connection is closed, which tells the caller that it is not complete
