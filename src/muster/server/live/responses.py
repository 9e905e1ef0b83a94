"""The answer that a live stream is: it writes what its reader is told, as bytes that many answers share."""

import asyncio
from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muster.lib.clock import iso
from muster.server.live.broadcaster import Broadcaster
from muster.server.live.messages import batch, message
from muster.server.live.readers import Reader
from muster.server.services import Services
from muster.server.streams import HEADERS, MEDIA_TYPE


class LiveResponse(Response):
    """Counts as one of its user's streams, and ends soon after the user's token is no longer valid."""

    media_type = MEDIA_TYPE

    def __init__(self, parts: Services, live: Broadcaster, reader: Reader, missing: Sequence[str] = ()) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._parts = parts
        self._live = live
        self._reader = reader
        self._missing = missing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reader, parts = self._reader, self._parts
        with (
            parts.bounds.streams.held(reader.me.name),
            parts.token_watch.watching(parts.context, parts.accounts, reader.me, reader.close),
            self._live.joined(reader),
        ):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            leaving = asyncio.create_task(_close_when_gone(reader, receive))
            try:
                piece: bytes | None = self._greeting()
                while piece is not None:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    piece = await reader.next()
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                leaving.cancel()

    def _greeting(self) -> bytes:
        """A reader that comes back gets the number only with what it has missed."""
        context = self._parts.context
        seq = context.hub.last_seq
        ready = message("ready", {"seq": seq, "at": iso(context.clock()), "missing": list(self._missing)})
        return batch([ready], seq if self._reader.since == seq else None)


async def _close_when_gone(reader: Reader, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reader.close()
