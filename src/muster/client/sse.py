"""Server-sent events: a parser, and a reader that reconnects if the connection breaks.

The reader resumes with Last-Event-ID, so every event is delivered once and in order, whatever happens to the network.
"""

import http.client
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from muster.client.errors import MusterError, unreachable
from muster.client.outages import PATIENCE_S, Outage
from muster.client.transport import Request, Transport

_READ_BYTES = 256 * 1024
_SILENCE_S = 60.0  # the server sends comments more often than that, so longer silence means a dead connection
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class ServerEvent:
    kind: str
    data: str
    id: str | None = None


class EventParser:
    """Takes bytes and returns complete events. It keeps an incomplete event, and never more than one."""

    def __init__(self) -> None:
        self._rest = b""
        self._kind = ""
        self._data: list[bytes] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            event = self._line(line.removesuffix(b"\r"))
            if event is not None:
                yield event

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._finish()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value.decode("utf-8", "replace")
        elif name == b"id":
            self._id = value.decode("utf-8", "replace")
        return None  # a comment (empty name) or a field that is not used here

    def _finish(self) -> ServerEvent | None:
        kind, data = self._kind, self._data
        self._kind, self._data = "", []
        if not data:
            return None
        return ServerEvent(kind or "message", b"\n".join(data).decode("utf-8", "replace"), self._id)


def read_events(
    transport: Transport,
    request: Request,
    *,
    follow: bool,
    patience_s: float = PATIENCE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[ServerEvent]:
    """Yields all events of a stream.

    After a broken connection the reader continues from the last event. With `follow`, a regular end of the answer also
    counts as broken, because the server may be restarting; only the caller knows the last event and stops reading.
    Raises MusterError if the server refuses the request or cannot be reached for `patience_s`.
    """
    last_id: str | None = None
    outage = Outage(transport, patience_s=patience_s, longest_pause_s=_LONGEST_PAUSE_S, sleep=sleep)
    while True:
        is_first = outage.failures == 0 and last_id is None
        try:
            with _Stream(transport, _resuming(request, last_id)) as stream:
                outage.end()
                for event in stream.events():
                    last_id = event.id or last_id
                    outage.progress()
                    yield event
            if not follow:
                return
            why: Exception = ConnectionError("the server closed the stream")
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, ConnectionRefusedError) and is_first:
                raise unreachable(transport.server, "connection refused") from error
            why = error
        except MusterError as error:
            if is_first or (0 < error.status < 500 and not error.is_for_now):
                raise
            why = error
        outage.pause(why)


class _Stream:
    def __init__(self, transport: Transport, request: Request) -> None:
        self._connection, self._response = transport.open(request)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def events(self) -> Iterator[ServerEvent]:
        parser = EventParser()
        while chunk := self._response.read1(_READ_BYTES):
            yield from parser.feed(chunk)


def _resuming(request: Request, last_id: str | None) -> Request:
    headers = {**request.headers, "Accept": "text/event-stream"}
    if last_id is not None:
        headers["Last-Event-ID"] = last_id
    return replace(request, headers=headers, answer_s=request.answer_s or _SILENCE_S)
