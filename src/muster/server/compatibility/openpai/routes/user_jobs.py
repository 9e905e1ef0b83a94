"""Jobs below their user, `/user/{user}/jobs`, as OpenPAI's first API had them and its first clients still call them."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiRoute
from muster.server.compatibility.openpai.job_listing import JobQuery, list_jobs
from muster.server.compatibility.openpai.names import require_own
from muster.server.compatibility.openpai.routes import job_control, jobs
from muster.server.compatibility.openpai.routes.authn import logged_in

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
token_router = APIRouter(route_class=PaiRoute, include_in_schema=False)
_ONE = "/user/{user}/jobs/{job}"


@token_router.post("/token")
async def get_token(request: Request, parts: Parts) -> Response:
    return JSONResponse(await logged_in(request, parts))


@router.get("/user/{user}/jobs")
async def get_jobs(user: str, request: Request, me: Me, parts: Parts) -> Response:
    listed = await list_jobs(parts, me, JobQuery.parse({**request.query_params, "username": user}))
    return JSONResponse(listed.lines)


@router.post("/user/{user}/jobs")
async def submit(user: str, request: Request, me: Me, parts: Parts) -> Response:
    require_own(me, user)
    return await jobs.submit(request, me, parts)


@router.get(_ONE)
async def get_job(user: str, job: str, me: Me, parts: Parts) -> Response:
    return await jobs.get_job(f"{user}~{job}", me, parts)


@router.get(_ONE + "/config")
async def get_config(user: str, job: str, me: Me, parts: Parts) -> Response:
    return await jobs.get_config(f"{user}~{job}", me, parts)


@router.get(_ONE + "/ssh")
async def get_ssh(user: str, job: str, me: Me, parts: Parts) -> Response:
    return await jobs.get_ssh(f"{user}~{job}", me, parts)


@router.put(_ONE + "/executionType")
async def set_execution_type(user: str, job: str, request: Request, me: Me, parts: Parts) -> Response:
    return await job_control.set_execution_type(f"{user}~{job}", request, me, parts)
