"""Routes for logs and events, as streams that can be resumed."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from muster.api.events import EventPage
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import Invalid, NotFound
from muster.domain.events import Event
from muster.engine.cluster_access import visible_clusters
from muster.engine.data.following import LogCursor, Unread, Wanted, check_workers, follow_job, task_of_worker
from muster.engine.nodes.hidden_folders import names_hidden_folder
from muster.engine.requests.accounts import Principal
from muster.engine.requests.reported_runs import refuse_outside
from muster.server.access import Action, may
from muster.server.job_sight import Sight, seen_event, sight_of
from muster.server.ranges import ranged_around
from muster.server.services import Services, authenticated, services
from muster.server.streams import event_stream, resume_point, sse, sse_response
from muster.wire.response_models import response_model
from muster.wire.views import event_view

router = APIRouter(tags=["logs and events"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_RAW = "application/octet-stream"
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {_RAW: {"schema": {"type": "string", "format": "binary"}}}, "description": "All of it."},
    206: {"content": {_RAW: {"schema": {"type": "string", "format": "binary"}}}, "description": "The range."},
}
_TEXT_STREAM: dict[str, Any] = {"text/event-stream": {}}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": _TEXT_STREAM, "description": "A stream of server-sent events."}
}
_LIST_OR_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": _TEXT_STREAM, "description": "A list; with `follow` a stream of server-sent events."}
}


@router.get("/jobs/{ref}/logs", response_class=StreamingResponse, responses=_STREAM, summary="What its tasks print")
async def job_logs(
    request: Request,
    ref: str,
    me: Me,
    parts: Parts,
    task: Annotated[list[str] | None, Query(description="A task's name, or role-index; repeat for several.")] = None,
    tail: Annotated[int | None, Query(ge=0, le=1_000_000, description="Only the last lines of each task.")] = None,
    follow: bool = False,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    since: Annotated[datetime | None, Query(description="Only lines that were written at this time or later.")] = None,
    until: Annotated[datetime | None, Query(description="Only lines that were written up to this time.")] = None,
    timestamps: Annotated[bool, Query(description="Say when the lines of each piece were begun, to a second.")] = False,
    cursor: Annotated[str | None, Query(max_length=100_000)] = None,
) -> Response:
    """Events `log` with {task, offset, end, text}, and {time} with `timestamps`, then `end`. The id of an event is a
    cursor: send it back as Last-Event-ID (or `cursor`) to go on behind it. It is the attempt and the next byte of each
    task, such as `1;train-worker-0=1200;train-worker-1=0`; tasks that it does not have begin with `tail`. Without
    `follow` the stream ends where the logs ended when it began; with it, it goes on to the job's end, through retries.
    An event `unread` with {task, detail} says that the log of a task cannot be read now, as its node does not answer;
    with `follow` it comes when it can be. `/live` tells when there is more."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    refuse_outside(job, "read")
    given = request.headers.get("last-event-id") or cursor
    start = LogCursor.parse(given) if given else LogCursor()
    if follow and until is not None:
        raise Invalid("until: what is followed has no end", hint="leave out one of `follow` and `until`")
    times = (_milliseconds(since, "since"), _milliseconds(until, "until"))
    wanted = Wanted(tuple(task or ()), tail, follow, attempt, *times, timestamps)
    check_workers(job, wanted.tasks)

    async def stream() -> AsyncIterator[str]:
        yield ": connected\n\n"
        try:
            async for at, found in follow_job(parts.context, parts.logs, job, wanted, start):
                if isinstance(found, Unread):
                    yield sse("unread", json.dumps({"task": found.task, "detail": found.why}, ensure_ascii=False))
                else:
                    yield sse("log", found.payload, str(at))
        except NotFound as error:
            yield sse("gone", json.dumps({"detail": error.message}, ensure_ascii=False))
        yield sse("end", "{}")

    return sse_response(parts, me, stream(), None if follow else parts.bounds.log_reads)


def _milliseconds(time: datetime | None, name: str) -> int | None:
    if time is None:
        return None
    if time.tzinfo is None:
        raise Invalid(f"{name}: a time needs its zone", hint="such as 2026-11-16T10:00:00Z or …+08:00")
    return max(0, int(time.timestamp() * 1000))


@router.get(
    "/jobs/{ref}/logs/raw",
    response_class=FileResponse,
    responses=_BYTES,
    summary="One task's log as it is, byte for byte",
)
async def raw_log(
    request: Request,
    ref: str,
    me: Me,
    parts: Parts,
    task: str,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
) -> Response:
    """Accepts a Range, also for a running task; then for what it has printed so far. Positions count all bytes that it
    has printed. Of a log beyond its limit, bytes are dropped from the middle: a line is in their place, and a range
    that begins there is refused (416)."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    found = await task_of_worker(parts.context, job, task, attempt)
    if found is None:
        raise NotFound(f"{task} has not been started")
    if found.log is not None and DroppedBytes.of_file(found.log) is None:
        return FileResponse(parts.logs.file(found), media_type=_RAW)
    extent = await parts.logs.extent(found, job.cluster)
    content = partial(parts.logs.raw, found, job.cluster)
    return ranged_around(request, extent.size, extent.dropped, content, _RAW)


@router.get(
    "/jobs/{ref}/events",
    response_model=response_model(EventPage),
    responses=_LIST_OR_STREAM,
    summary="What happened to it",
)
async def job_events(
    request: Request,
    ref: str,
    me: Me,
    parts: Parts,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    follow: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    return await _events(request, me, parts, after if after is not None else 0, job.id, None, follow, limit)


@router.get("/events", response_model=response_model(EventPage), responses=_LIST_OR_STREAM, summary="What happened")
async def all_events(
    request: Request,
    me: Me,
    parts: Parts,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    kind: Annotated[str | None, Query(max_length=100, description="The beginning of the kind, such as `job.`.")] = None,
    follow: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    """Answers a list from `after` on; with `follow` a stream, by default of events from now on."""
    start = after if after is not None or follow else 0
    return await _events(request, me, parts, start, None, kind, follow, limit)


async def _events(
    request: Request,
    me: Principal,
    parts: Services,
    after: int | None,
    job_id: str | None,
    prefix: str | None,
    follow: bool,
    limit: int,
) -> Response:
    if follow:
        start = resume_point(request, after)
        sight = partial(event_sight, parts, me)
        events = event_stream(parts, after=start, job_id=job_id, prefix=prefix, sight=sight)
        return sse_response(parts, me, events)
    found = await parts.context.store.events(after=after or 0, job_id=job_id, prefix=prefix, limit=limit)
    items = [event_view(seen) for event in found if (seen := visible(parts, me, event)) is not None]
    return JSONResponse(EventPage(items=items, nextCursor=str(found[-1].seq) if len(found) == limit else None))


def visible(parts: Services, me: Principal, event: Event) -> Event | None:
    """Returns the event as this person may see it, or None."""
    sight = event_sight(parts, me, event)
    return None if sight is None else seen_event(event, sight)


def event_sight(parts: Services, me: Principal, event: Event) -> Sight | None:
    """Returns how much of the event this person may see. An alert about a folder is for those who may use the
    folder."""
    if not event.kind.startswith("node.") or may(me, Action.AUDIT_SEE, event.owner, private=parts.private_jobs):
        return sight_of(me, event.owner, private=parts.private_jobs)
    cluster, message = event.data.get("cluster"), str(event.data.get("message", ""))
    if cluster not in visible_clusters(parts.context, me.user):
        return None
    hides = names_hidden_folder(message, parts.context.backends[cluster].settings, me.user)
    return None if hides else Sight.OUTLINE
