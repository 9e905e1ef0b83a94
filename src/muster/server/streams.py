"""Server-sent events: framing, keep-alive comments, and the event stream, which resumes without gaps or repeats."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from muster.domain.errors import Invalid, NotAuthenticated
from muster.domain.events import Event
from muster.engine.context import Context
from muster.engine.requests.accounts import Principal
from muster.server.services import Services
from muster.wire.views import event_view

KEEP_ALIVE_S = 15.0
CHECK_EVERY_S = 2.0
"""How often a stream checks that its token is still valid."""
_REPLAY_PAGE = 1000


def sse_response(parts: Services, me: Principal, stream: AsyncIterator[str]) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return _Stream(parts, me, stream, media_type="text/event-stream", headers=headers)


class _Stream(StreamingResponse):
    """A response that counts as one of its user's streams, and ends soon after the user's token is no longer valid."""

    def __init__(self, parts: Services, me: Principal, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._parts = parts
        self._me = me

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def noted(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        with self._parts.bounds.streams.held(self._me.name):
            work = asyncio.create_task(super().__call__(scope, receive, noted))
            try:
                while not (await asyncio.wait({work}, timeout=CHECK_EVERY_S))[0]:
                    await self._parts.accounts.recheck(self._me)
            except NotAuthenticated:
                await _cancelled(work)
                if has_started:
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            except BaseException:
                await _cancelled(work)
                raise
            work.result()


async def _cancelled(work: "asyncio.Task[None]") -> None:
    work.cancel()
    await asyncio.wait({work})


def sse(event: str, data: str, event_id: str | None = None) -> str:
    """`data` must be one line, which JSON always is."""
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {event}\ndata: {data}\n\n"


def resume_point(request: Request, after: int | None) -> int | None:
    """A browser sends Last-Event-ID when it reconnects, so the header takes precedence over `after`."""
    header = request.headers.get("last-event-id")
    if header is None:
        return after
    if not header.isascii() or not header.isdigit() or len(header) > 18:
        raise Invalid("Last-Event-ID must be a number that an event had")
    return int(header)


async def event_stream(
    context: Context,
    *,
    after: int | None,
    job_id: str | None,
    prefix: str | None,
    shown: Callable[[Event], Event | None],
) -> AsyncIterator[str]:
    """Yields every event after the given number, first from the store, then live. A reader that falls behind is
    disconnected."""
    with context.hub.subscribe(job_id) as subscription:
        last = context.hub.last_seq if after is None else after
        yield ": connected\n\n"
        while events := await context.store.events(after=last, job_id=job_id, prefix=prefix, limit=_REPLAY_PAGE):
            for event in events:
                last = event.seq
                if visible := shown(event):
                    yield _event(visible)
        while not subscription.is_cut_off:
            live = await subscription.next(KEEP_ALIVE_S)
            if live is None:
                yield ": still here\n\n"
            elif live.seq > last and live.kind.startswith(prefix or ""):
                last = live.seq
                if visible := shown(live):
                    yield _event(visible)


def _event(event: Event) -> str:
    view = event_view(event)
    shown = {**view, "state": event.data.get("state")} if event.kind.startswith("job.") else view
    return sse(event.kind, json.dumps(shown, ensure_ascii=False), str(event.seq))
