"""The route for what a job used."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from muster.api.job_usage import JobUseOut
from muster.engine.requests.accounts import Principal
from muster.engine.requests.job_usage import usage_of
from muster.server.access import Action
from muster.server.services import Services, authenticated, services
from muster.wire.job_usage_views import job_usage_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.get("/jobs/{ref}/usage", response_model=response_model(JobUseOut), summary="What it used")
async def get_job_usage(ref: str, me: Me, parts: Parts) -> Response:
    """What the job used, by task, by attempt and in all; so far, if it has not ended."""
    job = await parts.find_job(me, ref, Action.JOB_SEE)
    return JSONResponse(job_usage_view(job, await usage_of(parts.context, job)))
