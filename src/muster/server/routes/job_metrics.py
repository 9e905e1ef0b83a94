"""Routes for the metrics that a job reports, such as its loss."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.job_metrics import JobMetricsOut
from muster.domain.experiments.job_metrics import LONGEST_NAME, MOST_STEP, MetricPoint
from muster.domain.jobs import Job
from muster.engine.requests import job_metrics
from muster.engine.requests.accounts import Principal
from muster.server.access import Action
from muster.server.services import Services, authenticated, services
from muster.wire import requests
from muster.wire.job_metric_views import metric_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_Name = Annotated[str, Query(max_length=LONGEST_NAME)]
_MOST_IN_ALL = 50_000


@router.get("/jobs/{ref}/metrics", response_model=response_model(JobMetricsOut), summary="Metrics that it reported")
async def get_job_metrics(
    ref: str,
    me: Me,
    parts: Parts,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000, description="The newest one if it is absent.")] = None,
    name: Annotated[list[_Name] | None, Query(max_length=500, description="Only these; repeat for several.")] = None,
    points: Annotated[int, Query(ge=0, le=10_000, description="The most points of each curve.")] = 500,
    first_step: Annotated[
        int | None, Query(alias="from", ge=-MOST_STEP, le=MOST_STEP, description="Only points of this step and later.")
    ] = None,
) -> Response:
    """The metrics of one attempt, in the order of their names. A job with many metrics has fewer points for each."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    return JSONResponse(await _answer(parts, job, attempt or max(job.attempt, 1), name or [], points, first_step))


@router.post("/jobs/{ref}/metrics", response_model=response_model(JobMetricsOut), summary="Report metrics")
async def post_job_metrics(ref: str, me: Me, parts: Parts, body: requests.MetricsIn) -> Response:
    """Stores points of metrics, which may be of an ended job. What is stored already is not stored again. What is
    beyond the limits counts in the summaries only. Answers the summaries of the metrics that were sent."""
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    points = [MetricPoint(one.name, one.step, one.at.timestamp(), float(one.value)) for one in body.points]
    await job_metrics.report(parts.context, job, body.attempt, points)
    names = list({point.name for point in points})
    return JSONResponse(await _answer(parts, job, body.attempt or max(job.attempt, 1), names, 0))


async def _answer(
    parts: Services, job: Job, attempt: int, names: list[str], most: int, first_step: int | None = None
) -> JobMetricsOut:
    series, room = await job_metrics.reported(parts.context, job, attempt, names)
    most = min(most, _MOST_IN_ALL // max(1, len(series)))
    store = parts.context.store
    curves = [
        await store.metric_points(job.id, attempt, one.name, first_step=first_step) if most else [] for one in series
    ]
    views = [metric_view(one, curve, most) for one, curve in zip(series, curves, strict=True)]
    return JobMetricsOut(id=job.id, attempt=attempt, metrics=views, room=room)
