"""Wraps every request: bounds its size while it is read, keeps its answer out of caches, and counts it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.domain.errors import TooMany, Unavailable
from muster.server.bounds import Bound
from muster.server.metrics import Metrics
from muster.server.problems import problem, problem_of

MAX_BODY_BYTES = 8 << 20
MAX_LOGIN_BYTES = 64 << 10
"""The bound for people whom nobody knows yet."""
_LOGINS = (
    "/api/v1/login",
    "/api/v1/token",
    "/api/v2/authn/",
    "/rest-server/api/v1/token",
    "/rest-server/api/v2/authn/",
)
LAST_EVENT = b"muster-last-event"
"""The header with the number of the last event before an answer. A stream after it misses nothing."""
_ANSWERS = ("/api/", "/rest-server/")


@dataclass(frozen=True, slots=True)
class BodyLimit:
    most: int
    is_streamed: bool = False
    """Whether the route keeps nothing of what it has read, so that only the piece which just came takes memory."""


OF_LOGINS = BodyLimit(MAX_LOGIN_BYTES)
_OF_OTHERS = BodyLimit(MAX_BODY_BYTES)


class Guard:
    """Pure ASGI, because the wrappers of the framework cost more than all of this. `limits` are those of the paths that
    have another one than the rest, and `last_event` answers the number of the last event."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        body_bytes: Bound,
        limits: Mapping[str, BodyLimit] | None = None,
        last_event: Callable[[], int] | None = None,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._body_bytes = body_bytes
        self._limits = limits or {}
        self._last_event = last_event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        last_event = self._last_event() if self._last_event is not None else None
        read, held, over = 0, 0, None
        client = scope.get("client")
        holder = client[0] if client else ""
        limit = self._limits.get(scope["path"]) or _limit(scope["path"])
        most = limit.most

        async def bounded() -> Message:
            nonlocal read, held, over
            if limit.is_streamed and held:
                self._body_bytes.give_back(holder, held)
                held = 0
            message = await receive()
            if not (length := len(message.get("body", b""))):
                return message
            if read + length > most:
                over = problem(413, "too-large", f"this request may have at most {most} bytes")
                raise _OverBound
            try:
                self._body_bytes.take(holder, length)
            except (TooMany, Unavailable) as error:
                over = problem_of(error)
                raise _OverBound from None
            read += length
            held += length
            return message

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                if scope["path"].startswith(_ANSWERS):
                    _keep_out_of_caches(message)
                    _keep_from_guessing(message)
                    if last_event is not None:
                        message["headers"].append((LAST_EVENT, b"%d" % last_event))
                self._metrics.answered(scope["method"], message["status"], time.perf_counter() - started)
            await send(message)

        async def counted_unless_over(message: Message) -> None:
            """Drops the answer of the framework, which takes our error for a body that cannot be parsed."""
            if over is None:
                await counted(message)

        try:
            await self._app(scope, bounded, counted_unless_over)
        except _OverBound:
            pass
        finally:
            if held:
                self._body_bytes.give_back(holder, held)
        if over is not None:
            await over(scope, receive, counted)


def _limit(path: str) -> BodyLimit:
    return OF_LOGINS if path.startswith(_LOGINS) else _OF_OTHERS


def _keep_out_of_caches(message: Message) -> None:
    """What one person may see must not be shown to the next one at the same machine."""
    if not any(name == b"cache-control" for name, _ in message["headers"]):
        message["headers"].append((b"cache-control", b"no-store"))


def _keep_from_guessing(message: Message) -> None:
    """A file that somebody else has made must not become a page because it looks like one."""
    if not any(name == b"x-content-type-options" for name, _ in message["headers"]):
        message["headers"].append((b"x-content-type-options", b"nosniff"))


class _OverBound(Exception):
    pass
