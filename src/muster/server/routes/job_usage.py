"""Routes for what a job used: in all, and over time."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.job_usage import JobHistoryOut, JobUseOut
from muster.engine.data.following import tasks_of_workers
from muster.engine.data.usage_history import UsageHistory
from muster.engine.requests.accounts import Principal
from muster.engine.requests.job_usage import usage_of
from muster.server.access import Action
from muster.server.services import Services, authenticated, services
from muster.wire.job_usage_views import job_usage_view
from muster.wire.response_models import response_model
from muster.wire.usage_history_views import task_history_view

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MOST_IN_ALL = 20_000
_LEAST_POINTS = 20


@router.get("/jobs/{ref}/usage", response_model=response_model(JobUseOut), summary="What it used")
async def get_job_usage(ref: str, me: Me, parts: Parts) -> Response:
    """What the job used, by task, by attempt and in all; so far, if it has not ended."""
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    return JSONResponse(job_usage_view(job, await usage_of(parts.context, job)))


@router.get("/jobs/{ref}/usage/history", response_model=response_model(JobHistoryOut), summary="What it used over time")
async def get_usage_history(
    ref: str,
    me: Me,
    parts: Parts,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    worker: Annotated[
        list[str] | None, Query(max_length=1000, description="A task's name, or role-index; repeat for several.")
    ] = None,
    points: Annotated[int, Query(ge=2, le=360, description="The most points of each task.")] = 180,
) -> Response:
    """Curves of each task, from its start to now or to its end. They are kept as long as the job's logs. A job of many
    tasks has fewer points for each."""
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    number = attempt or max(job.attempt, 1)
    tasks = await tasks_of_workers(parts.context, job, worker or (), number)
    series = await UsageHistory(parts.context).of_attempt(job, number)
    known = [task for task in tasks if task.id in series]
    most = min(points, max(_LEAST_POINTS, _MOST_IN_ALL // max(1, len(known))))
    return JSONResponse(
        JobHistoryOut(attempt=number, tasks=[task_history_view(task, series[task.id], most) for task in known])
    )
