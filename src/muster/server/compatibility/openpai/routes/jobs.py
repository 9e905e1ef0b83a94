"""Submitting, listing and showing jobs."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may
from muster.server.compatibility.openpai.attempts import attempt_of
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.compatibility.openpai.job_listing import JobQuery, list_jobs
from muster.server.compatibility.openpai.job_views import PRIORITY_WORDS, status
from muster.server.compatibility.openpai.names import find_job, pai_name
from muster.server.compatibility.openpai.submitting import DIALECT, submit_text
from muster.server.compatibility.openpai.tags import tags_of
from muster.server.compatibility.openpai.task_views import task_roles
from muster.server.request_body import off_the_loop
from muster.server.services import Services
from muster.server.submission_warnings import with_warnings

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
_LONG_LINES = 1000
"""A longer list is written in a thread, so that nobody else waits for it."""


@router.post("/jobs")
async def submit(request: Request, me: Me, parts: Parts) -> Response:
    job, warnings = await submit_text(request, parts, me)
    told = "".join(f"; warning: {warning}" for warning in warnings)
    return with_warnings(JSONResponse({"message": f"job {pai_name(job)} was accepted{told}"}, 202), warnings)


@router.get("/jobs")
async def get_jobs(request: Request, me: Me, parts: Parts) -> Response:
    query = JobQuery.parse(request.query_params)
    listed = await list_jobs(parts, me, query)
    answer = {"totalCount": listed.total, "data": listed.lines} if query.has_total else listed.lines
    if len(listed.lines) <= _LONG_LINES:
        return JSONResponse(answer)
    return await off_the_loop(parts.parsing, JSONResponse, answer)


@router.get("/jobs/{name}")
async def get_job(name: str, me: Me, parts: Parts) -> Response:
    job = await find_job(parts, me, name, Action.JOB_SEE)
    return JSONResponse(await _detail(parts, me, job, None))


@router.get("/jobs/{name}/attempts/{index}")
async def get_attempt(name: str, index: int, me: Me, parts: Parts) -> Response:
    job = await find_job(parts, me, name, Action.JOB_SEE)
    return JSONResponse(await _detail(parts, me, job, index))


@router.get("/jobs/{name}/config")
async def get_config(name: str, me: Me, parts: Parts) -> Response:
    """The file as it was submitted, without its secrets."""
    job = await find_job(parts, me, name, Action.JOB_READ)
    original = job.spec.original
    if original is None or original.dialect != DIALECT:
        raise PaiError(404, "NoJobConfigError", f"{name} was not submitted with an OpenPAI file, or was changed since")
    return Response(original.text, media_type="text/yaml")


@router.get("/jobs/{name}/ssh")
async def get_ssh(name: str, me: Me, parts: Parts) -> Response:
    job = await find_job(parts, me, name, Action.JOB_READ)
    raise PaiError(
        404, "NoJobSshInfoError", f"{name} has no SSH of its own; use `muster exec {job.name}` or `muster port-forward`"
    )


async def _detail(parts: Services, me: Principal, job: Job, index: int | None) -> dict[str, Any]:
    attempt = await attempt_of(parts, job, index)
    may_read = may(me, Action.JOB_READ, job.owner, private=parts.private_jobs)
    return {
        "name": job.name,
        "debugId": job.id,
        "tags": tags_of(job.spec.labels),
        "jobPriority": PRIORITY_WORDS[job.spec.priority],
        "jobStatus": status(job, attempt, parts.context.clock(), may_read=may_read),
        "taskRoles": task_roles(job, attempt, may_read=may_read),
    }
