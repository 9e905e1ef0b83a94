"""Routes for logs by line: by number, and by a text in them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.logs import FoundLineOut, LogLineOut, LogLinesOut, LogSearchOut
from muster.domain.errors import Invalid
from muster.domain.tasks import Task
from muster.engine.data.following import task_of_worker, tasks_of_workers
from muster.engine.data.log_lines import Line, LinePage
from muster.engine.data.log_search import FoundLine, Needle, SearchCursor, search
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso
from muster.server.access import Action
from muster.server.services import Services, authenticated, services
from muster.wire.response_models import response_model

router = APIRouter(tags=["logs and events"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MOST = 1 << 53
"""The largest number that JavaScript counts to."""


@router.get("/jobs/{ref}/logs/lines", response_model=response_model(LogLinesOut), summary="Lines of one task's log")
async def log_lines(
    ref: str,
    me: Me,
    parts: Parts,
    worker: Annotated[str, Query(max_length=400, description="A task's name, or role-index.")],
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    first: Annotated[
        int, Query(alias="from", ge=-_MOST, le=_MOST, description="The first line; a negative one counts from the end.")
    ] = 1,
    count: Annotated[int, Query(ge=1, le=5000)] = 500,
) -> Response:
    """Lines by number: the first is 1, the last is -1. The answer has fewer than `count` if they are long: go on behind
    the last one. Works for a running task, too, and is empty for one that has not been started. The first call for a
    long log may be refused with 503 while its lines are counted; the next one goes on with it."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    task = await task_of_worker(parts.context, job, worker, attempt)
    number = task.attempt if task is not None else attempt or max(job.attempt, 1)
    page = LinePage()
    if task is not None and (task.log is not None or task.started_at is not None):
        with parts.bounds.log_pages.held(me.name):
            page = await parts.log_lines.page(task, job.cluster, first, count)
    return JSONResponse(
        LogLinesOut(
            worker=worker.removeprefix(f"{job.name}-"),
            attempt=number,
            lines=[_line_view(line) for line in page.lines],
            total=page.total,
            sizeBytes=page.size_bytes,
            droppedBytes=page.dropped_bytes,
            isComplete=page.is_complete,
        )
    )


@router.get("/jobs/{ref}/logs/search", response_model=response_model(LogSearchOut), summary="Lines with a text")
async def search_logs(
    ref: str,
    me: Me,
    parts: Parts,
    q: Annotated[str, Query(min_length=1, max_length=200, description="A part of a line, as it is: not a pattern.")],
    worker: Annotated[
        list[str] | None, Query(max_length=1000, description="A task's name, or role-index; repeat for several.")
    ] = None,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    case: Annotated[bool, Query(description="Whether case matters.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Searches the logs of all workers, or of those named, one after the other. A search ends after some seconds and
    10,000 lines: `nextCursor` goes on, with the same query."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    if "\n" in q:
        raise Invalid("q: lines are searched one by one", hint="search for a part of one line")
    start = SearchCursor.parse(cursor) if cursor else SearchCursor()
    number = attempt or max(job.attempt, 1)
    tasks = await tasks_of_workers(parts.context, job, worker or (), number)
    with parts.bounds.log_searches.held(me.name):
        found = await search(parts.logs, tasks, job.cluster, Needle(q, case), limit, start)
    return JSONResponse(
        LogSearchOut(
            attempt=number,
            items=[_found_view(line) for line in found.found],
            total=found.total,
            isCut=found.is_cut,
            nextCursor=str(found.next_cursor) if found.next_cursor is not None else None,
            searchedBytes=found.searched_bytes,
            unread=[_worker(task) for task in found.unread],
        )
    )


def _found_view(found: FoundLine) -> FoundLineOut:
    return {
        "worker": _worker(found.task),
        "n": found.number,
        "offset": found.offset,
        "text": found.text,
        "ranges": [list(span) for span in found.ranges],
    }


def _worker(task: Task) -> str:
    return f"{task.role}-{task.index}"


def _line_view(line: Line) -> LogLineOut:
    view = LogLineOut(n=line.number, offset=line.offset, text=line.text)
    if line.at_ms is not None:
        view["at"] = iso(line.at_ms / 1000)
    if line.cut_bytes:
        view["cutBytes"] = line.cut_bytes
    return view
