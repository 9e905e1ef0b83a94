"""Runs: they are made, read, ended, deleted and restored. The run of a job begins and ends with its job."""

import hashlib
import secrets
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from muster.domain.errors import Forbidden, Invalid
from muster.domain.job_notes import DELETED, JobNote, NoteKind
from muster.domain.jobs import ELSEWHERE, Cancelled, Failed, Job, Running, Succeeded
from muster.engine.requests import reported_runs
from muster.engine.requests.reported_runs import NewRun
from muster.ports.store import Change, RequestKey
from muster.server.access import Action
from muster.server.compatibility.mlflow import bodies
from muster.server.compatibility.mlflow.callers import Caller, Who
from muster.server.compatibility.mlflow.errors import MlflowRoute
from muster.server.compatibility.mlflow.run_reading import read_run, whole_run
from muster.server.compatibility.mlflow.views import RUN_NAME, experiment_of, info_view

router = APIRouter(route_class=MlflowRoute)
_Id = Annotated[str, Query(max_length=64)]
_PARENT = "mlflow.parentRunId"
_SAID = "its program said so with MLflow's client"
_LAST_MS = 253_402_300_799_000
_FIRST_S, _AHEAD_S = 946_684_800.0, 24 * 3600.0
"""The year 2000, and how far a client's clock may be ahead of the server's."""


@router.post("/runs/create", name="mlflow_create_run")
async def create(request: Request, body: bodies.CreatedRun, who: Who) -> JSONResponse:
    """Clients repeat a request that was not answered. One of the same words finds the run that the first has made. A
    task has one run, that of its job, however often its programs begin one."""
    if who.only_job is not None and not any(tag.key == _PARENT for tag in body.tags):
        return JSONResponse({"run": await whole_run(who, await who.run(who.only_job, Action.JOB_CHANGE))})
    who.require_making()
    experiment = await who.experiment(body.experiment_id)
    if experiment.is_deleted:
        raise Invalid(f"experiment {experiment.name!r} was deleted", hint="restore it, or use another one")
    noted = {tag.key: tag.value for tag in body.tags if tag.key != DELETED}
    name = body.run_name or noted.get(RUN_NAME) or f"run-{secrets.token_hex(3)}"
    noted[RUN_NAME] = name
    context = who.parts.context
    asked = NewRun(name, experiment.id, seconds(body.start_time, context.clock()), "mlflow")
    digest = hashlib.sha256(await request.body()).hexdigest()
    key = RequestKey(who.me.name, f"mlflow:{digest}") if body.start_time else None
    notes = [(NoteKind.TAG, tag, value) for tag, value in noted.items()]
    job = await reported_runs.begin(context, who.me.name, asked, notes, key)
    return JSONResponse({"run": await whole_run(who, job)})


@router.get("/runs/get", name="mlflow_get_run")
async def get(who: Who, run_id: _Id = "", run_uuid: _Id = "") -> JSONResponse:
    job = await who.run(run_id or run_uuid)
    return JSONResponse({"run": await whole_run(who, job)})


@router.post("/runs/update", name="mlflow_update_run")
async def update(body: bodies.UpdatedRun, who: Who) -> JSONResponse:
    """The end of a job is what became of its tasks, and not what one of them says."""
    job = await who.run(body.run_id, Action.JOB_CHANGE)
    context = who.parts.context
    await reported_runs.require_active(context, job)
    if body.status is not None and body.status not in _STATES:
        raise Invalid(f"{body.status!r} is not a status of a run", hint=f"use one of: {', '.join(_STATES)}")
    if body.run_name:
        await reported_runs.note(context, job, [JobNote(job.id, NoteKind.TAG, RUN_NAME, body.run_name)])
    if body.status is not None and job.cluster == ELSEWHERE:
        at = seconds(body.end_time, context.clock())
        job = await _moved(who, job, body.status, at)
    run = await read_run(who, job)
    info = info_view(run, experiment_of(run), is_task=who.only_job is not None)
    return JSONResponse({"run_info": info})


_STATES = ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")


async def _moved(who: Caller, job: Job, status: str, at: float) -> Job:
    state: Running | Succeeded | Failed | Cancelled
    match status:
        case "FINISHED":
            state, reason = Succeeded(at), ""
        case "FAILED":
            state, reason = reported_runs.failed(at), _SAID
        case "KILLED":
            state, reason = Cancelled(at, who.me.name), _SAID
        case _:
            state, reason = Running(job.created_at), reported_runs.OUTSIDE
    if type(state) is type(job.state):
        return job
    return await reported_runs.end(who.parts.context, job, state, reason)


@router.post("/runs/delete", name="mlflow_delete_run")
async def delete(body: bodies.OfRun, who: Who) -> JSONResponse:
    job = await _deletable(who, body.run_id)
    await reported_runs.note(who.parts.context, job, [JobNote(job.id, NoteKind.TAG, DELETED, "true")])
    return JSONResponse({})


@router.post("/runs/restore", name="mlflow_restore_run")
async def restore(body: bodies.OfRun, who: Who) -> JSONResponse:
    job = await _deletable(who, body.run_id)
    await who.parts.context.store.apply(Change(removed_notes=[JobNote(job.id, NoteKind.TAG, DELETED, "")]))
    return JSONResponse({})


async def _deletable(who: Caller, run_id: str) -> Job:
    job = await who.run(run_id, Action.JOB_DELETE)
    if who.only_job is not None:
        raise Forbidden("a task cannot delete its run")
    if job.cluster != ELSEWHERE:
        raise Invalid(f"run {run_id} is the job {job.name}", hint=f"muster delete job/{job.name} removes it")
    return job


def seconds(millis: int | None, now: float) -> float:
    """A time that no right clock can have shown is taken as now: such a run would be the first or the last of all lists
    for ever, and no program should fail because of a clock. Raises Invalid."""
    if millis is None:
        return now
    if millis > _LAST_MS:
        raise Invalid(f"{millis} is not a time in milliseconds since 1970")
    at = millis / 1000
    return at if _FIRST_S <= at <= now + _AHEAD_S else now
