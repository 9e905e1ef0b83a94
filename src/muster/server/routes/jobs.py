"""Routes for jobs: submit, list, show, change."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.api.dry_runs import DryRunOut
from muster.api.explanations import ExplainOut, WhatIfOut
from muster.api.jobs import (
    JobOut,
    JobPage,
    TaskList,
)
from muster.domain.errors import Invalid
from muster.domain.jobs import Job
from muster.engine.requests import commands, foreign_jobs
from muster.engine.requests.accounts import Principal
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.explaining import explain, waiting_for, what_if
from muster.ports.store import JobFilter, JobOrder, JobSort, Members
from muster.server.access import Action, may, require
from muster.server.dry_run_views import dry_run_view
from muster.server.explanation_views import explanation_view, what_if_view
from muster.server.foreign_job_views import foreign_explanation, foreign_job_view
from muster.server.job_reading import read_job
from muster.server.label_filters import label_filters
from muster.server.leaving import only_while_connected
from muster.server.request_body import SUBMISSION_DOCUMENTED, Submitted, read_submission
from muster.server.request_keys import RepeatKey, request_key
from muster.server.services import Services, authenticated, services
from muster.server.state_filters import known_states
from muster.server.submission_warnings import relating_problems_to, with_warnings
from muster.server.timestamps import instant
from muster.wire import requests
from muster.wire.response_models import response_model
from muster.wire.spec_patch import changed_spec, read_changes
from muster.wire.views import OWN_ORIGIN, outlined_task_view, task_view

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MAX_WAIT_S = 60.0
_OTHERS = "others"
_MOST_COUNTED = 100_000
_SUBMITTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": response_model(JobOut) | response_model(DryRunOut),
        "description": "The job of an earlier call with this Idempotency-Key; or, of a dry run, what would be started.",
    },
    201: {"description": "The job, which is queued."},
}


@router.post(
    "/jobs",
    status_code=201,
    response_model=response_model(JobOut),
    responses=_SUBMITTED,
    openapi_extra=SUBMISSION_DOCUMENTED,
    summary="Submit a job",
)
async def submit(
    submitted: Annotated[Submitted, Depends(read_submission)],
    me: Me,
    parts: Parts,
    is_dry_run: Annotated[bool, Query(alias="dryRun")] = False,
    idempotency_key: RepeatKey = None,
) -> Response:
    """A repeated call with the same Idempotency-Key answers the job of the first one. `dryRun=true` answers what would
    be started, where and about when, and starts nothing."""
    require(me, Action.JOB_SUBMIT)
    reading = await read_job(submitted, parts, me.name)
    if is_dry_run:
        with relating_problems_to(reading):
            found = await dry_run(parts.context, parts.look_ahead, reading.spec, me.name, reading.secrets)
        return JSONResponse(dry_run_view(found, reading.warnings))
    key = request_key(me, idempotency_key, submitted.body.model_dump())
    with relating_problems_to(reading):
        job, is_new = await commands.submit(parts.context, reading.spec, me.name, key, carried=reading.secrets)
    return with_warnings(JSONResponse(parts.job_view(me, job), 201 if is_new else 200), reading.warnings)


@router.get("/jobs", response_model=response_model(JobPage), summary="List jobs")
async def list_jobs(
    me: Me,
    parts: Parts,
    state: Annotated[list[str] | None, Query(description="Repeat, or separate by commas.")] = None,
    owner: Annotated[str | None, Query(description="`me` is you.")] = None,
    cluster: str | None = None,
    vc: Annotated[str | None, Query(description="A virtual cluster.")] = None,
    label: Annotated[list[str] | None, Query(max_length=100, description="key=value; repeat for several.")] = None,
    text: Annotated[str | None, Query(max_length=200, description="Part of name, owner or id.")] = None,
    name: str | None = None,
    since: Annotated[str | None, Query(description="ISO time, or an age such as 7d.")] = None,
    until: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
    sort: JobSort = JobSort.CREATED,
    order: Literal["asc", "desc"] | None = None,
    reason: Annotated[
        str | None, Query(max_length=200, description="Part of the reason why it waits or ended.")
    ] = None,
    total: Annotated[bool, Query(description="Count all jobs that match, too.")] = False,
    origin: Annotated[str, Query(description="`others`: jobs made in a cluster itself, such as with kubectl.")] = "",
    sweep: Annotated[str | None, Query(max_length=100, description="The id of a sweep: only its members.")] = None,
    members: Annotated[Members, Query(description="Whether members of sweeps are among them.")] = Members.ALL,
) -> Response:
    """Lists Muster's own jobs. Those that were made in the engine of a cluster are a list of their own, newest first.
    Times, priorities and GPUs are sorted in descending order unless `order` says otherwise, texts in ascending order.
    A job that has not started, or not ended, is sorted as if that were after all others. Only the reasons of jobs that
    you may read are searched."""
    owner = me.name if owner == requests.MYSELF else owner
    if origin not in ("", OWN_ORIGIN, _OTHERS):
        raise Invalid(f"{origin!r} is not an origin of jobs", hint=f"{OWN_ORIGIN} or {_OTHERS}")
    if origin != _OTHERS and (parts.private_jobs or reason) and not me.is_admin:
        if owner not in (None, me.name):
            return JSONResponse(_page([], None, 0 if total else None))
        owner = me.name
    now = parts.context.clock()
    where = JobFilter(
        states=_states(state),
        owner=owner,
        cluster=cluster,
        vc=vc,
        name=name,
        labels=label_filters(label or ()),
        text=text,
        created_after=instant("since", since, now),
        created_before=instant("until", until, now),
        reason=reason,
        open_with_reason=await waiting_for(parts.context, reason, owner) if reason else (),
        sweep=sweep,
        members=members,
    )
    if origin == _OTHERS:
        if sort is not JobSort.CREATED or order == "asc" or total or reason:
            raise Invalid("jobs of others are listed newest first", hint="leave out sort, order, total and reason")
        others = foreign_jobs.page(foreign_jobs.visible(parts.context, me), where, limit=limit, cursor=cursor)
        return JSONResponse(JobPage(items=list(map(foreign_job_view, others.items)), nextCursor=others.next_cursor))
    sorting = JobOrder(sort, order == "desc" if order else not sort.is_text)
    page = await parts.context.store.jobs(where, limit=limit, cursor=cursor, order=sorting)
    count = await parts.context.store.count_jobs(where, most=_MOST_COUNTED) if total else None
    return JSONResponse(_page([parts.job_view(me, job) for job in page.items], page.next_cursor, count))


def _page(items: list[JobOut], next_cursor: str | None, total: int | None) -> JobPage:
    page = JobPage(items=items, nextCursor=next_cursor)
    if total is not None:
        page["total"] = total
    return page


@router.get("/jobs/{ref}", response_model=response_model(JobOut), summary="One job, by id or name")
async def get_job(ref: str, me: Me, parts: Parts) -> Response:
    """A job that was made in the engine of a cluster has an id such as `k8s:research:mnist`."""
    if (foreign := parts.foreign_job(me, ref)) is not None:
        return JSONResponse(foreign_job_view(foreign))
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    return JSONResponse(parts.job_view(me, job))


@router.get("/jobs/{ref}/tasks", response_model=response_model(TaskList), summary="Its tasks")
async def get_tasks(
    ref: str,
    me: Me,
    parts: Parts,
    attempt: Annotated[str | None, Query(pattern=r"^(all|[0-9]{1,6})$", description="A number, or `all`.")] = None,
) -> Response:
    """Lists the tasks of the current attempt unless another is asked for. Of a job that was not made with Muster they
    are not known."""
    if parts.foreign_job(me, ref) is not None:
        return JSONResponse(TaskList(items=[]))
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    wanted = None if attempt == "all" else int(attempt) if attempt else max(job.attempt, 1)
    view = task_view if may(me, Action.JOB_READ, job.owner, private=parts.private_jobs) else outlined_task_view
    return JSONResponse(TaskList(items=[view(task) for task in await parts.context.store.tasks(job.id, wanted)]))


@router.get("/jobs/{ref}/explain", response_model=response_model(ExplainOut), summary="Why it waits or failed")
async def get_explanation(
    ref: str,
    me: Me,
    parts: Parts,
    changes: Annotated[
        list[str] | None, Query(alias="what_if", description="gpus=2, vc=b or any path=value; repeat for several.")
    ] = None,
) -> Response:
    """`what_if` also answers for a waiting job as it would be with these changes, and changes nothing."""
    if not changes and (foreign := parts.foreign_job(me, ref)) is not None:
        return JSONResponse(foreign_explanation(foreign, parts.context.clock()))
    job = await parts.find_job(me, ref, Action.JOB_READ)
    found = await explain(parts.context, parts.logs, job)
    supposed = await _supposed(parts, job, read_changes(changes)) if changes else None
    return JSONResponse(explanation_view(job, found, supposed))


@router.get("/jobs/{ref}/wait", response_model=response_model(JobOut), summary="Wait for its end")
async def wait_for_end(
    request: Request,
    ref: str,
    me: Me,
    parts: Parts,
    timeout_s: Annotated[float, Query(alias="timeout", ge=0, le=_MAX_WAIT_S)] = 30.0,
) -> Response:
    """Answers when the job has ended, or after the timeout with the job as it is."""
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    with parts.bounds.waits.held(me.name), parts.context.hub.subscribe(job.id) as changes:
        deadline = parts.context.clock() + timeout_s
        job = await parts.find_job(me, job.id, Action.JOB_SEE)
        async with only_while_connected(request):
            while not job.is_final and (left := deadline - parts.context.clock()) > 0:
                event = await changes.next(left)
                if event is not None and event.kind.startswith("job."):
                    job = await parts.find_job(me, job.id, Action.JOB_SEE)
    await parts.accounts.recheck(me)
    return JSONResponse(parts.job_view(me, job))


@router.post("/jobs/{ref}/kill", status_code=202, response_model=response_model(JobOut), summary="Stop it")
async def kill(ref: str, me: Me, parts: Parts, body: requests.KillIn | None = None) -> Response:
    """Sends SIGTERM, waits for the grace period, then sends SIGKILL. Tasks are Stopping until they have ended."""
    job = await parts.find_job(me, ref, Action.JOB_STOP)
    killed = await commands.kill(parts.context, job.id, me.name, body.grace if body else None)
    return JSONResponse(parts.job_view(me, killed), 202)


@router.post("/jobs/{ref}/hold", response_model=response_model(JobOut), summary="Keep it from running")
async def hold(ref: str, me: Me, parts: Parts) -> Response:
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    return JSONResponse(parts.job_view(me, await commands.hold(parts.context, job.id, me.name)))


@router.post("/jobs/{ref}/resume", response_model=response_model(JobOut), summary="Let a held job run")
async def resume(ref: str, me: Me, parts: Parts) -> Response:
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    return JSONResponse(parts.job_view(me, await commands.resume(parts.context, job.id, me.name)))


@router.delete("/jobs/{ref}", status_code=204, summary="Remove an ended job from history")
async def delete(ref: str, me: Me, parts: Parts) -> None:
    job = await parts.find_job(me, ref, Action.JOB_DELETE)
    await commands.delete(parts.context, job, me.name)


async def _supposed(parts: Services, job: Job, changes: dict[str, Any]) -> WhatIfOut:
    return what_if_view(changes, await what_if(parts.context, job, changed_spec(job.spec, changes)))


def _states(given: list[str] | None) -> tuple[str, ...]:
    return known_states([word.strip().capitalize() for item in given or () for word in item.split(",") if word.strip()])
