"""Routes for jobs: submit, list, show, change."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.explanations import ExplainOut, WhatIfOut
from muster.api.jobs import (
    ContainerCommandOut,
    DryRunOut,
    JobOut,
    JobPage,
    RenderedFileOut,
    RequestOut,
    SetupOut,
    SpecOut,
    TaskList,
)
from muster.domain.errors import Invalid
from muster.domain.jobs import JOB_STATES, Job
from muster.domain.launch_requests import LaunchRequest, SetupUse
from muster.engine.requests import commands, foreign_jobs
from muster.engine.requests.accounts import Principal
from muster.engine.requests.explaining import explain, what_if
from muster.launch.secret_variables import masked_variables
from muster.launch.shells import text_of
from muster.ports.backend import ContainerCommand
from muster.ports.store import JobFilter
from muster.server.access import Action, require
from muster.server.explanation_views import explanation_view, what_if_view
from muster.server.foreign_job_views import foreign_explanation, foreign_job_view
from muster.server.job_reading import read_job
from muster.server.request_body import SUBMISSION_DOCUMENTED, Submitted, read_submission
from muster.server.request_keys import RepeatKey, request_key
from muster.server.services import Services, authenticated, services
from muster.server.submission_warnings import relating_problems_to, with_warnings
from muster.server.timestamps import instant
from muster.wire import requests
from muster.wire.response_models import response_model
from muster.wire.spec_patch import changed_spec, read_changes
from muster.wire.specs import spec_to_wire
from muster.wire.views import OWN_ORIGIN, extended_view, task_view
from muster.wire.views import job_view as plain_job_view
from muster.wire.written_specs import spec_as_written

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MAX_WAIT_S = 60.0
_OTHERS = "others"
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
    dry_run: Annotated[bool, Query(alias="dryRun")] = False,
    idempotency_key: RepeatKey = None,
) -> Response:
    """A repeated call with the same Idempotency-Key answers the job of the first one. `dryRun=true` answers what would
    be started, and starts nothing."""
    require(me, Action.JOB_SUBMIT)
    reading = await read_job(submitted, parts, me.name)
    if dry_run:
        with relating_problems_to(reading):
            found = await commands.dry_run(parts.context, reading.spec, me.name, reading.secrets)
        return JSONResponse(_dry_run_view(found, reading.warnings))
    key = request_key(me, idempotency_key, submitted.body.model_dump())
    with relating_problems_to(reading):
        job, is_new = await commands.submit(parts.context, reading.spec, me.name, key, carried=reading.secrets)
    return with_warnings(JSONResponse(parts.job_view(me, job), 201 if is_new else 200), reading.warnings)


@router.get("/jobs", response_model=response_model(JobPage), summary="List jobs, newest first")
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
    cursor: Annotated[str | None, Query(max_length=400)] = None,
    origin: Annotated[str, Query(description="`others`: jobs made in a cluster itself, such as with kubectl.")] = "",
) -> Response:
    """Lists Muster's own jobs. Those that were made in the engine of a cluster are a list of their own."""
    owner = me.name if owner == "me" else owner
    if origin not in ("", OWN_ORIGIN, _OTHERS):
        raise Invalid(f"{origin!r} is not an origin of jobs", hint=f"{OWN_ORIGIN} or {_OTHERS}")
    if origin != _OTHERS and parts.private_jobs and not me.is_admin:
        if owner not in (None, me.name):
            return JSONResponse(JobPage(items=[], nextCursor=None))
        owner = me.name
    now = parts.context.clock()
    where = JobFilter(
        states=_states(state),
        owner=owner,
        cluster=cluster,
        vc=vc,
        name=name,
        labels=tuple(_label(item) for item in label or ()),
        text=text,
        created_after=instant("since", since, now),
        created_before=instant("until", until, now),
    )
    if origin == _OTHERS:
        others = foreign_jobs.page(foreign_jobs.visible(parts.context, me), where, limit=limit, cursor=cursor)
        return JSONResponse(JobPage(items=list(map(foreign_job_view, others.items)), nextCursor=others.next_cursor))
    page = await parts.context.store.jobs(where, limit=limit, cursor=cursor)
    items = [parts.job_view(me, job) for job in page.items]
    return JSONResponse(JobPage(items=items, nextCursor=page.next_cursor))


@router.get("/jobs/{ref}", response_model=response_model(JobOut), summary="One job, by id or name")
async def get_job(ref: str, me: Me, parts: Parts) -> Response:
    """A job that was made in the engine of a cluster has an id such as `k8s:research:mnist`."""
    if (foreign := parts.foreign_job(me, ref)) is not None:
        return JSONResponse(foreign_job_view(foreign))
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    return JSONResponse(parts.job_view(me, job))


@router.get("/jobs/{ref}/spec", response_model=response_model(SpecOut), summary="What was asked")
async def get_spec(ref: str, me: Me, parts: Parts) -> Response:
    job = await parts.find_job(me, ref, Action.JOB_READ)
    return JSONResponse(SpecOut(spec=spec_to_wire(job.spec), template=spec_as_written(job.spec)))


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
    tasks = [task_view(task) for task in await parts.context.store.tasks(job.id, wanted)]
    if not me.is_admin and me.name != job.owner:
        tasks = [{**task, "reason": ""} for task in tasks]
    return JSONResponse(TaskList(items=tasks))


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
    ref: str, me: Me, parts: Parts, timeout_s: Annotated[float, Query(alias="timeout", ge=0, le=_MAX_WAIT_S)] = 30.0
) -> Response:
    """Answers when the job has ended, or after the timeout with the job as it is."""
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    with parts.context.hub.subscribe(job.id) as changes:
        deadline = parts.context.clock() + timeout_s
        job = await parts.find_job(me, job.id, Action.JOB_SEE)
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


def _dry_run_view(found: commands.DryRun, warnings: Sequence[str]) -> DryRunOut:
    rendered = found.rendered
    return DryRunOut(
        job=plain_job_view(found.job),
        requests=[_request_view(one, rendered.containers.get(one.task_id)) for one in found.requests],
        files=[RenderedFileOut(name=file.name, content=file.content) for file in rendered.files],
        warnings=list(warnings),
    )


def _request_view(request: LaunchRequest, container: ContainerCommand | None) -> RequestOut:
    return {
        "task": request.task_id,
        "node": request.node,
        "argv": list(request.argv),
        "args": list(request.args),
        "workdir": request.workdir if request.image else None,
        "commandLine": text_of(request.argv),
        "env": {**request.env, **masked_variables(request.secrets)},
        "ports": list(request.ports),
        "devices": list(request.devices),
        "extendedDevices": [extended_view(device) for device in request.extended],
        "image": request.image,
        "container": _container_view(container) if container else None,
        "setup": _setup_view(request.setup) if request.setup else None,
    }


def _container_view(command: ContainerCommand) -> ContainerCommandOut:
    return {"engine": command.engine, "argv": list(command.argv), "why": command.why}


def _setup_view(setup: SetupUse) -> SetupOut:
    return {"command": list(setup.command), "key": setup.key, "cache": setup.is_kept}


def _states(given: list[str] | None) -> tuple[str, ...]:
    states = tuple(word.strip().capitalize() for item in given or () for word in item.split(",") if word.strip())
    unknown = [state for state in states if state not in JOB_STATES]
    if unknown:
        raise Invalid(f"{unknown[0]!r} is not a job state", hint=f"one of {', '.join(JOB_STATES)}")
    return states


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Invalid(f"a label filter is key=value, not {text!r}")
    return key, value
