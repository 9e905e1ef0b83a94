"""The routes for the history of jobs on all servers, which the log server has; without one, of those that this server
has itself. This server asks for people who are logged in here, and checks what they may see: their own jobs, or, for
admins, all.

The log server knows owners by name only. A job that was submitted before the account was made is of a former user of
the name."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.history import HistoryJobOut, HistoryPage
from muster.domain.errors import NotFound
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso
from muster.server.services import Services, authenticated, services
from muster.server.state_filters import known_states
from muster.server.timestamps import instant
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_Word = Annotated[str | None, Query(max_length=256)]


@router.get("/history", response_model=response_model(HistoryPage), summary="Jobs of all servers")
async def list_history(
    me: Me,
    parts: Parts,
    everywhere: Annotated[
        bool, Query(alias="all", description="Answer the jobs of all servers, not of this one alone.")
    ] = False,
    owner: _Word = None,
    cluster: _Word = None,
    state: _Word = None,
    text: Annotated[str | None, Query(max_length=256, description="A part of the name or the id.")] = None,
    since: Annotated[str | None, Query(description="ISO time, or an age such as 30d.")] = None,
    until: Annotated[str | None, Query(description="ISO time, or an age such as 1d.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=2048)] = None,
) -> Response:
    """What the log server knows of jobs, newest first, also of those that were deleted here; without a log server, the
    jobs of this server. Users see the jobs that were submitted under their own name since their account was made,
    admins all."""
    known_states([] if state is None else [state])
    now = parts.context.clock()
    since_at, until_at = instant("since", since, now), instant("until", until, now)
    if not me.is_admin:
        since_at = max(since_at or 0.0, me.user.created_at)
    where = {
        "receiver": None if everywhere else await parts.context.store.receiver() or "-",
        "owner": owner if me.is_admin else me.name,
        "cluster": cluster,
        "state": state,
        "text": text,
        "since": None if since_at is None else iso(since_at),
        "until": None if until_at is None else iso(until_at),
        "cursor": cursor,
        "limit": str(limit),
    }
    if not me.is_admin and owner not in (None, "me", me.name):
        return JSONResponse(HistoryPage(items=[], nextCursor=None, onlyOwn=True))
    if me.is_admin and owner == "me":
        where["owner"] = me.name
    page = await parts.history.jobs({name: value for name, value in where.items() if value is not None})
    return JSONResponse({**page, "onlyOwn": not me.is_admin})


@router.get("/history/{receiver}/{job_id}", response_model=response_model(HistoryJobOut), summary="A job of any server")
async def get_history(me: Me, parts: Parts, receiver: str, job_id: str) -> Response:
    """The job with all its records. One that you may not see is answered like one that is not there."""
    found = await parts.history.job(receiver, job_id)
    if found is None or not (me.is_admin or _is_own(me, found["job"])):
        raise NotFound(f"there is no job {job_id} of {receiver}", hint="see `muster history list`")
    return JSONResponse(found)


def _is_own(me: Principal, job: dict[str, Any]) -> bool:
    return bool(job.get("owner") == me.name and job.get("submittedAt", "") >= iso(me.user.created_at))
