"""The route for programs that read the log of a task piece by piece: bytes by position, and what is known of the rest.

A log is bytes, which need not be text, and bytes may have been dropped from its middle. So the bytes are the answer's
body, and the rest is in its headers.
"""

import asyncio
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from muster.domain.errors import MusterError, NotFound
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.data.following import task_of_worker
from muster.engine.requests.accounts import Principal
from muster.ports.capabilities import LogChunk, TaskRef
from muster.server.access import Action
from muster.server.leaving import only_while_connected
from muster.server.services import Services, authenticated, services

router = APIRouter(tags=["logs and events"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_RAW = "application/octet-stream"
_MAX_BYTES = 1 << 20
_MAX_WAIT_S = 60.0
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {_RAW: {"schema": {"type": "string", "format": "binary"}}},
        "description": "The bytes. Headers: `Muster-Log-Offset` of the first of them, `Muster-Log-Size` of the whole "
        "log, `Muster-Log-Ended` (`true` if nothing follows and the task has ended), and `Muster-Log-Dropped` "
        "(`START-END`) if bytes were dropped from its middle, before which an answer ends.",
    }
}


@router.get(
    "/jobs/{ref}/logs/chunk", response_class=Response, responses=_ANSWER, summary="A piece of one task's log, by bytes"
)
async def log_chunk(
    request: Request,
    ref: str,
    me: Me,
    parts: Parts,
    task: Annotated[str, Query(max_length=200, description="Role and index, such as `worker-0`.")],
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=0, le=_MAX_BYTES)] = _MAX_BYTES,
    tail: Annotated[
        int | None, Query(ge=0, le=1_000_000, description="Begin with so many of the last lines instead.")
    ] = None,
    wait_s: Annotated[
        float, Query(alias="wait", ge=0, le=_MAX_WAIT_S, description="How long to wait for bytes behind `offset`.")
    ] = 0.0,
) -> Response:
    job = await parts.find_job(me, ref, Action.JOB_READ)
    found = await task_of_worker(parts.context, job, task, attempt)
    if found is None:
        raise NotFound(f"{task} has not been started")
    if tail is not None:
        offset = await parts.logs.start_of_tail(found, job.cluster, tail)
    chunk = await parts.logs.chunk(found, job.cluster, offset, limit)
    if wait_s and not chunk.ended and chunk.size <= offset:
        with parts.bounds.waits.held(me.name):
            async with only_while_connected(request):
                await _grown(parts, job, found, offset, wait_s)
        chunk = await parts.logs.chunk(found, job.cluster, offset, limit)
        await parts.accounts.recheck(me)
    return Response(chunk.data, media_type=_RAW, headers=_headers(chunk))


async def _grown(parts: Services, job: Job, task: Task, beyond: int, wait_s: float) -> None:
    """Returns when the log is longer than that, when it will not grow any more, or after that time."""
    backend = parts.context.backends.get(job.cluster)
    logs = backend.capabilities.logs if backend is not None else None
    if logs is None:
        return
    try:
        async with asyncio.timeout(wait_s), aclosing(logs.watch(TaskRef.of(task))) as sizes:
            async for size in sizes:
                if size > beyond:
                    return
    except (TimeoutError, MusterError):
        return


def _headers(chunk: LogChunk) -> dict[str, str]:
    dropped = {} if chunk.dropped is None else {"Muster-Log-Dropped": f"{chunk.dropped.start}-{chunk.dropped.end}"}
    return {
        "Muster-Log-Offset": str(chunk.offset),
        "Muster-Log-Size": str(chunk.size),
        "Muster-Log-Ended": "true" if chunk.ended else "false",
        "Cache-Control": "no-store",
        **dropped,
    }
