"""Jobs: list, submit and kill, and the same by the name that PaddlePaddle's Kubernetes resource has."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from muster.domain.accounts import User
from muster.domain.errors import Conflict, Invalid, NotFound
from muster.domain.jobs import Job
from muster.engine.requests import commands
from muster.engine.requests.accounts import Principal
from muster.engine.requests.admission import unknown_names
from muster.server.access import Action, require
from muster.server.compatibility.paddlecloud.answering import OK, InWords, both, caller_of, json_body, simple, text
from muster.server.compatibility.paddlecloud.kube_views import is_terminating, job_object, listing
from muster.server.compatibility.paddlecloud.own_jobs import (
    listed_jobs,
    newest_of_each_name,
    own_job,
    tasks_of,
    trainers,
)
from muster.server.compatibility.paddlecloud.pfs_paths import found, plain
from muster.server.job_reading import names_used
from muster.server.services import Services, services
from muster.server.submission_warnings import relating_problems_to, with_warnings
from muster.wire.dialects.detecting import Dialect
from muster.wire.dialects.paddle import paddlecloud
from muster.wire.documents import Document
from muster.wire.specs import Reading, reading_of
from muster.wire.unreadable_spec import UnreadableSpec

router = APIRouter(route_class=InWords, include_in_schema=False)
Me = Annotated[Principal, Depends(caller_of("/api/v1/jobs"))]
Parts = Annotated[Services, Depends(services)]
_PATHS = ("/api/v1/jobs/", *both("/api/v1/trainingjobs"))
"""The paths of jobs. Without a slash at its end, the first one is Muster's own."""


async def list_jobs(me: Me, parts: Parts) -> Response:
    jobs = await listed_jobs(parts, me)
    items = [job_object(job, trainers(await tasks_of(parts, job))) for job in jobs]
    terminating = [job.name for job in await newest_of_each_name(parts, me) if is_terminating(job)]
    return JSONResponse({**listing(items, "JobList"), "terminating": terminating})


async def submit(request: Request, me: Me, parts: Parts) -> Response:
    require(me, Action.JOB_SUBMIT)
    body = await json_body(request)
    if unknown := sorted({"roles", "command", "spec"} & body.keys()):
        raise Invalid(f"{unknown[0]!r} is no argument of paddlecloud's submit")
    await _require_free_name(parts, me, text(body, "name") or paddlecloud.JOB_NAME)
    reading = await _read(parts, me, body)
    await _require_package(parts, me, reading)
    with relating_problems_to(reading):
        await commands.submit(parts.context, reading.spec, me.name, None)
    return with_warnings(simple(OK, ""), reading.warnings)


async def kill(request: Request, me: Me, parts: Parts) -> Response:
    """Answers before the tasks have ended: they are listed as terminating until then. A job that has ended stays in
    Muster's history, and its name may be used again."""
    name = text(await json_body(request), "jobname")
    if not name:
        raise Invalid("must specify jobname")
    job = await own_job(parts, me, name, Action.JOB_STOP)
    if not job.is_final:
        await commands.kill(parts.context, job.id, me.name)
    return simple(OK, "")


for _path in _PATHS:
    router.add_api_route(_path, list_jobs, methods=["GET"], include_in_schema=False)
    router.add_api_route(_path, submit, methods=["POST"], include_in_schema=False)
    router.add_api_route(_path, kill, methods=["DELETE"], include_in_schema=False)


async def _require_free_name(parts: Services, me: Principal, name: str) -> None:
    job: Job | None = await parts.context.store.find_job(me.name, name)
    if job is None or job.is_final:
        return
    why = "is still terminating" if is_terminating(job) else f"already exists and is {job.state_name}"
    raise Conflict(f"job {name} {why}", hint="choose another -jobname, or wait until it has ended")


async def _read(parts: Services, me: Principal, body: dict[str, Any]) -> Reading:
    by = paddlecloud.Submitter(me.name, _folders(parts, me.user, text(body, "datacenter")))
    dialect = Dialect("paddlecloud", "", lambda data: True, partial(paddlecloud.translate, by=by))
    try:
        return reading_of(Document(body), dialects=[dialect])
    except UnreadableSpec as error:
        raise error.with_more(await unknown_names(parts.context, names_used(error), me.name)) from None


def _folders(parts: Services, user: User, datacenter: str) -> frozenset[str]:
    try:
        return frozenset(folder.name for folder in parts.files.folders(user, datacenter))
    except NotFound:
        return frozenset()  # the spec names the cluster, and that is refused with its own words


async def _require_package(parts: Services, me: Principal, reading: Reading) -> None:
    """The package must be there before the job is: a path that is wrong is told at once, with the true cause."""
    pfs = await found(parts, me, reading.spec.env[paddlecloud.PACKAGE_VARIABLE])
    try:
        await parts.files.stat(plain(me.user), pfs.address)
    except NotFound as error:
        raise NotFound(f"package not exist in cloud: {pfs.shown}", hint=error.hint) from None
