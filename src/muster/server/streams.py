"""Server-sent events: framing, keep-alive comments, and the event stream, which resumes without gaps or repeats."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from muster.domain.errors import Invalid
from muster.domain.events import Event
from muster.engine.requests.accounts import Principal
from muster.server.bounds import Bound
from muster.server.job_sight import Sight
from muster.server.services import Services

KEEP_ALIVE_S = 15.0
_REPLAY_PAGE = 1000


MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def sse_response(
    parts: Services, me: Principal, stream: AsyncIterator[str] | AsyncIterator[bytes], bound: Bound | None = None
) -> StreamingResponse:
    """`bound` is what it counts for, if it is not one of the caller's streams."""
    return _Stream(parts, me, bound or parts.bounds.streams, stream, media_type=MEDIA_TYPE, headers=HEADERS)


class _Stream(StreamingResponse):
    """A response that counts as one of its user's streams, and ends soon after the user's token is no longer valid."""

    def __init__(self, parts: Services, me: Principal, bound: Bound, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._bound = bound
        self._parts = parts
        self._me = me

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = is_over = False

        async def noted(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        def end() -> None:
            nonlocal is_over
            is_over = True
            work.cancel()

        with self._bound.held(self._me.name):
            work = asyncio.create_task(super().__call__(scope, receive, noted))
            try:
                with self._parts.token_watch.watching(self._parts.context, self._parts.accounts, self._me, end):
                    await asyncio.wait({work})
            except BaseException:
                work.cancel()
                await asyncio.wait({work})
                raise
            if not is_over:
                work.result()
            elif has_started:
                await send({"type": "http.response.body", "body": b"", "more_body": False})


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
    parts: Services,
    *,
    after: int | None,
    job_id: str | None,
    prefix: str | None,
    sight: Callable[[Event], Sight | None],
) -> AsyncIterator[bytes]:
    """Yields every event after the given number, first from the store, then live. A reader that falls behind is
    disconnected. With many readers, events that come shortly after each other are sent together."""
    context, frames = parts.context, parts.event_frames
    with context.hub.subscribe(job_id) as subscription:
        last = context.hub.last_seq if after is None else after
        yield b": connected\n\n"
        while events := await context.store.events(after=last, job_id=job_id, prefix=prefix, limit=_REPLAY_PAGE):
            last = events[-1].seq
            if found := frames.joined(events, sight):
                yield found
        while not subscription.is_cut_off:
            live = await subscription.take(KEEP_ALIVE_S)
            new = [event for event in live if event.seq > last and event.kind.startswith(prefix or "")]
            if not live:
                yield b": still here\n\n"
            elif new:
                last = new[-1].seq
                if found := frames.joined(new, sight):
                    yield found
                await asyncio.sleep(context.hub.pause_s)
