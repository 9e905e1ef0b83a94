"""Server-sent events: a parser, and a reader that reconnects if the connection breaks.

The reader resumes with Last-Event-ID, so every event is delivered once and in order, whatever happens to the network.
"""

import http.client
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from muster.client.errors import MusterError, unreachable
from muster.client.transport import Request, Transport
from muster.lib.backoff import exponential

_READ_BYTES = 256 * 1024
_SILENCE_S = 60.0  # the server sends comments more often than that, so longer silence means a dead connection
_PATIENCE_S = 120.0


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
    patience_s: float = _PATIENCE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[ServerEvent]:
    """Yields all events of a stream.

    After a broken connection the reader continues from the last event. With `follow`, a regular end of the answer also
    counts as broken, because the server may be restarting; only the caller knows the last event and stops reading.
    Raises MusterError if the server refuses the request or cannot be reached for `patience_s`.
    """
    last_id: str | None = None
    failures = 0
    lost_at: float | None = None
    while True:
        try:
            with _Stream(transport, _resuming(request, last_id)) as stream:
                lost_at = None
                for event in stream.events():
                    last_id = event.id or last_id
                    failures = 0
                    yield event
            if not follow:
                return
            why: Exception = ConnectionError("the server closed the stream")
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, ConnectionRefusedError) and failures == 0 and last_id is None:
                raise unreachable(transport.server, "connection refused") from error
            why = error
        except MusterError as error:
            if 0 < error.status < 500 or (failures == 0 and last_id is None):
                raise
            why = error
        now = time.monotonic()
        lost_at = now if lost_at is None else lost_at
        if now - lost_at > patience_s:
            raise unreachable(transport.server, f"no connection for {patience_s:.0f} s: {why}") from why
        failures += 1
        sleep(exponential(failures, first_s=0.1, limit_s=5.0))


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
