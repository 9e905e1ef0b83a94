"""Stopping jobs and tagging them, which is for their owners and admins."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muster.domain.errors import Conflict
from muster.engine.requests import commands
from muster.engine.requests.relabelling import relabel
from muster.server.access import Action
from muster.server.compatibility.openpai.bodies import text_field
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.compatibility.openpai.names import find_job
from muster.server.compatibility.openpai.tags import with_tag, without_tag

router = APIRouter(route_class=PaiRoute, include_in_schema=False)


@router.put("/jobs/{name}/executionType")
async def set_execution_type(name: str, request: Request, me: Me, parts: Parts) -> Response:
    """STOP ends the job, and has no effect on one that has ended. START has no effect, as every job is started."""
    wanted = await text_field(request, "value")
    if wanted not in ("START", "STOP"):
        raise PaiError(400, "InvalidParametersError", "value is START or STOP")
    job = await find_job(parts, me, name, Action.JOB_STOP)
    if wanted == "STOP" and not job.is_final:
        try:
            await commands.kill(parts.context, job.id, me.name)
        except Conflict:
            pass  # it ended meanwhile, which is what the caller wants
    return JSONResponse({"status": 202, "message": f"{wanted.lower()} of {name} was accepted"}, 202)


@router.put("/jobs/{name}/tag")
async def add_tag(name: str, request: Request, me: Me, parts: Parts) -> Response:
    tag = await text_field(request, "value")
    job = await find_job(parts, me, name, Action.JOB_CHANGE)
    await relabel(parts.context, job.id, me.name, lambda labels: with_tag(labels, tag))
    return JSONResponse({"status": 200, "message": f"{name} has the tag {tag}"})


@router.delete("/jobs/{name}/tag")
async def remove_tag(name: str, request: Request, me: Me, parts: Parts) -> Response:
    tag = await text_field(request, "value")
    job = await find_job(parts, me, name, Action.JOB_CHANGE)
    await relabel(parts.context, job.id, me.name, lambda labels: without_tag(labels, tag))
    return JSONResponse({"status": 200, "message": f"{name} has the tag {tag} no more"})
