"""Runs commands on nodes and streams their output. It never retries, because an interrupted command may have run."""

import base64
import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from muster.client.errors import UNREACHABLE, MusterError, unreachable
from muster.client.sse import EventParser
from muster.client.transport import Query, Request, Transport, as_json

_READ_BYTES = 256 * 1024
_SILENCE_S = 60.0  # the server sends comments more often than that, so longer silence means a dead connection


@dataclass(frozen=True, slots=True)
class CommandPiece:
    """`stream` is stdout or stderr."""

    stream: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The end of a command. If a signal ended it, `exit_code` is 128 plus its number."""

    exit_code: int
    timed_out: bool


def stream_command(
    transport: Transport, path: str, query: Query, command: Sequence[str], timeout: str | float
) -> Iterator[CommandPiece | CommandResult]:
    data, headers = as_json({"command": list(command), "timeout": timeout})
    headers["Accept"] = "text/event-stream"
    request = Request("POST", path, query, data, headers, repeatable=False, answer_s=_SILENCE_S)
    parser = EventParser()
    try:
        connection, response = transport.open(request)
        with closing(connection):
            while chunk := response.read1(_READ_BYTES):
                for event in parser.feed(chunk):
                    told = json.loads(event.data)
                    if event.kind == "end":
                        yield CommandResult(int(told["exitCode"]), bool(told["timedOut"]))
                        return
                    if event.kind == "failed":
                        raise MusterError(str(told["detail"]), code="backend")
                    yield CommandPiece(str(told["stream"]), _bytes(told))
    except (OSError, http.client.HTTPException) as error:
        raise unreachable(transport.server, str(error) or type(error).__name__) from error
    raise MusterError("the server closed the connection before the command ended", code=UNREACHABLE)


def _bytes(told: Mapping[str, Any]) -> bytes:
    return base64.b64decode(told["base64"]) if "base64" in told else str(told["text"]).encode()
