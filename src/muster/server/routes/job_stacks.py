"""Routes for the stacks of a job's tasks. They are as private as its logs."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.job_stacks import StacksList, StacksOut
from muster.engine.requests.accounts import Principal
from muster.engine.stacks.collecting import collect
from muster.engine.stacks.keeping import keep, kept
from muster.server.access import Action
from muster.server.services import Services, authenticated, services
from muster.wire.job_stack_views import stacks_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.get("/jobs/{ref}/stacks", response_model=response_model(StacksList), summary="Stacks that were collected")
async def get_stacks(ref: str, me: Me, parts: Parts) -> Response:
    """What was collected by hand and by alerts, the newest first. The last ten are kept as long as the job's logs."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    found = await kept(parts.context, job)
    return JSONResponse(StacksList(items=[stacks_view(one) for one in found]))


@router.post("/jobs/{ref}/stacks", response_model=response_model(StacksOut), summary="Collect stacks")
async def collect_stacks(
    ref: str,
    me: Me,
    parts: Parts,
    worker: Annotated[
        str | None, Query(max_length=200, description="A task's name, or its number; all that run if it is absent.")
    ] = None,
) -> Response:
    """Looks in running tasks where their processes and threads stand, and keeps that with the job. It takes some
    seconds, and disturbs no process. The text has no variables, and of command lines no arguments."""
    job = await parts.find_job(me, ref, Action.JOB_EXEC)
    bound = parts.bounds.commands
    bound.take(me.name)
    try:
        found = await collect(parts.context, job, worker, me.name)
    finally:
        bound.give_back(me.name)
    await keep(parts.context, job, found)
    return JSONResponse(stacks_view(found))
