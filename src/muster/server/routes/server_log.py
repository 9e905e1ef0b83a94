"""The route of the server's own log, for admins. Each server answers with its own, a standby too."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.api.server_log import ServerLogPage
from muster.domain.errors import Invalid
from muster.engine.requests.accounts import Principal
from muster.lib.rotated_reading import Position, lines_after, position_before
from muster.server.access import Action, require
from muster.server.log_entries import entry_of
from muster.server.services import Services, authenticated, services
from muster.server.streams import KEEP_ALIVE_S, sse, sse_response
from muster.wire.response_models import response_model

PATH = "/server/log"
router = APIRouter(tags=["system"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_LOOK_EVERY_S = 0.5
_MOST_LINES = 10_000
_LIST_OR_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "A list; with `follow` a stream of server-sent events."}
}


@router.get(PATH, response_model=response_model(ServerLogPage), responses=_LIST_OR_STREAM, summary="The server's log")
async def server_log(
    request: Request,
    me: Me,
    parts: Parts,
    tail: Annotated[int, Query(ge=0, le=_MOST_LINES, description="How many of the last entries.")] = 100,
    follow: bool = False,
    cursor: Annotated[str | None, Query(max_length=50, description="Only entries after this one; not `tail`.")] = None,
) -> Response:
    """Needs `logFile` in the server's settings. With `follow`, events `log` with one entry each; the id of an event is
    a cursor: send it back as Last-Event-ID (or `cursor`) to go on behind it."""
    require(me, Action.SERVER_LOG_READ)
    file = parts.own_log.file()
    start = await _start(file, request.headers.get("last-event-id") or cursor, tail)
    if follow:
        return sse_response(parts, me, _followed(file, start))
    items, end = await _up_to_now(file, start, tail if cursor is None else _MOST_LINES)
    role = "standby" if parts.own_log.is_standby else "acting"
    return JSONResponse(ServerLogPage(server=parts.own_log.server, role=role, items=items, nextCursor=str(end)))


async def _start(file: Path, cursor: str | None, tail: int) -> Position:
    if cursor is None:
        return await asyncio.to_thread(position_before, file, tail)
    found = Position.parse(cursor)
    if found is None:
        raise Invalid("this is not a cursor of the server's log", hint="take `nextCursor`, or the id of the last event")
    return found


async def _up_to_now(file: Path, start: Position, most: int) -> tuple[list[dict[str, Any]], Position]:
    items: list[dict[str, Any]] = []
    while len(items) < most and (lines := await asyncio.to_thread(lines_after, file, start)):
        taken = lines[: most - len(items)]
        items += [entry_of(line) for line, _ in taken]
        start = taken[-1][1]
    return items, start


async def _followed(file: Path, at: Position) -> AsyncIterator[str]:
    yield ": connected\n\n"
    silent_s = 0.0
    while True:
        lines = await asyncio.to_thread(lines_after, file, at)
        for line, at in lines:
            yield sse("log", json.dumps(entry_of(line), ensure_ascii=False), str(at))
        if lines:
            silent_s = 0.0
            continue
        await asyncio.sleep(_LOOK_EVERY_S)
        silent_s += _LOOK_EVERY_S
        if silent_s >= KEEP_ALIVE_S:
            silent_s = 0.0
            yield ": still here\n\n"
