"""What programs report of a run: metrics, params and tags, one by one or many at once."""

from collections.abc import Sequence

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from muster.domain.errors import Invalid
from muster.domain.experiments.job_metrics import MetricPoint
from muster.domain.job_notes import DELETED, JobNote, NoteKind
from muster.domain.jobs import Job
from muster.engine.requests import job_metrics, reported_runs
from muster.server.access import Action
from muster.server.compatibility.mlflow import bodies
from muster.server.compatibility.mlflow.callers import Caller, Who
from muster.server.compatibility.mlflow.datasets import tag_of
from muster.server.compatibility.mlflow.errors import MlflowRoute

router = APIRouter(route_class=MlflowRoute)


@router.post("/runs/log-metric", name="mlflow_log_metric")
async def log_metric(body: bodies.LoggedMetric, who: Who) -> JSONResponse:
    await _measured(who, await _run(who, body), [body])
    return JSONResponse({})


@router.post("/runs/log-parameter", name="mlflow_log_param")
async def log_param(body: bodies.LoggedParam, who: Who) -> JSONResponse:
    await _noted(who, await _run(who, body), [body], [])
    return JSONResponse({})


@router.post("/runs/set-tag", name="mlflow_set_tag")
async def set_tag(body: bodies.SetTag, who: Who) -> JSONResponse:
    await _noted(who, await _run(who, body), [], [body])
    return JSONResponse({})


@router.post("/runs/delete-tag", name="mlflow_delete_tag")
async def delete_tag(body: bodies.DeletedTag, who: Who) -> JSONResponse:
    job = await _run(who, body)
    await reported_runs.forget_tag(who.parts.context, job, body.key)
    return JSONResponse({})


@router.post("/runs/log-batch", name="mlflow_log_batch")
async def log_batch(body: bodies.Batch, who: Who) -> JSONResponse:
    """What is wrong with params and tags is said before anything is stored."""
    if len(body.metrics) + len(body.params) + len(body.tags) > bodies.MOST_IN_A_BATCH:
        raise Invalid(f"a batch has at most {bodies.MOST_IN_A_BATCH} metrics, params and tags together")
    keys = [one.key for one in body.params]
    if len(set(keys)) < len(keys):
        raise Invalid("a batch has the same param twice", hint="send each param once")
    job = await _run(who, body)
    job_metrics.require_valid(points := [_point(one) for one in body.metrics])
    await _noted(who, job, body.params, body.tags)
    if points:
        await job_metrics.report(who.parts.context, job, None, points)
    return JSONResponse({})


@router.post("/runs/log-inputs", name="mlflow_log_inputs")
async def log_inputs(body: bodies.LoggedInputs, who: Who) -> JSONResponse:
    await _noted(who, await _run(who, body), [], [tag_of(one) for one in body.datasets])
    return JSONResponse({})


async def _run(who: Caller, body: bodies.OfRun) -> Job:
    job = await who.run(body.run_id, Action.JOB_CHANGE)
    await reported_runs.require_active(who.parts.context, job)
    return job


async def _measured(who: Caller, job: Job, metrics: Sequence[bodies.Metric]) -> None:
    await job_metrics.report(who.parts.context, job, None, [_point(one) for one in metrics])


def _point(one: bodies.Metric) -> MetricPoint:
    return MetricPoint(one.key, one.step, one.timestamp / 1000, one.value)


async def _noted(who: Caller, job: Job, params: Sequence[bodies.Param], tags: Sequence[bodies.Tag]) -> None:
    notes = [JobNote(job.id, NoteKind.PARAM, one.key, one.value) for one in params]
    notes += [JobNote(job.id, NoteKind.TAG, one.key, one.value) for one in tags if one.key != DELETED]
    await reported_runs.note(who.parts.context, job, notes)
