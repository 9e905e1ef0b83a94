"""The tries of a task, and links to what it has printed."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from muster.domain.errors import NotFound
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.server.access import Action, may
from muster.server.compatibility.openpai.attempts import attempt_of
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.compatibility.openpai.log_links import LogLink, new_link, opened
from muster.server.compatibility.openpai.names import find_job
from muster.server.compatibility.openpai.task_views import task_with_attempts
from muster.server.ranges import ranged_around
from muster.server.services import Services

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
_TASK = "/jobs/{name}/attempts/{attempt}/taskRoles/{role}/taskIndex/{index}/attempts"
_TAIL_LINES = 1000
_PLAIN = "text/plain; charset=utf-8"
_HEADERS = {"X-Content-Type-Options": "nosniff"}


@router.get(_TASK)
async def get_task_attempts(name: str, attempt: int, role: str, index: int, me: Me, parts: Parts) -> Response:
    job = await find_job(parts, me, name, Action.JOB_SEE)
    task = await _task(parts, job, attempt, role, index)
    may_read = may(me, Action.JOB_READ, job.owner, private=parts.private_jobs)
    return JSONResponse(task_with_attempts(job, task, may_read=may_read))


@router.get(_TASK + "/{task_attempt}/logs")
async def get_logs(
    request: Request,
    name: str,
    attempt: int,
    role: str,
    index: int,
    task_attempt: int,
    me: Me,
    parts: Parts,
    is_tail: Annotated[bool, Query(alias="tail-mode")] = False,
    is_short: Annotated[bool, Query(alias="tailMode")] = False,
) -> Response:
    """Answers a link that opens the log for an hour, without a token, as clients expect it. The JavaScript SDK
    writes `tailMode` where the documentation has `tail-mode`."""
    job = await find_job(parts, me, name, Action.JOB_READ)
    task = await _task(parts, job, attempt, role, index)
    if task_attempt != 0:
        raise PaiError(404, "NoTaskLogError", f"{role}[{index}] has one attempt in each attempt of its job, number 0")
    uri = f"{str(request.base_url).rstrip('/')}{new_link(parts, task, me.name, is_tail=is_tail or is_short)}"
    return JSONResponse({"locations": [{"name": "all", "uri": uri}]})


@router.get("/task-logs/{task}")
async def open_log(
    request: Request,
    task: str,
    parts: Parts,
    user: Annotated[str, Query(max_length=100)],
    expires: Annotated[int, Query(ge=0, le=2**40)],
    signature: Annotated[str, Query(max_length=128)],
    tail: bool = False,
) -> Response:
    job, found = await opened(parts, LogLink(task, user, expires, tail), signature)
    try:
        extent = await parts.logs.extent(found, job.cluster)
        content = partial(parts.logs.raw, found, job.cluster)
        if tail:
            start = await parts.logs.start_of_tail(found, job.cluster, _TAIL_LINES)
            return StreamingResponse(content(start, extent.size, marked=True), media_type=_PLAIN, headers=_HEADERS)
    except NotFound as error:
        raise PaiError(404, "NoTaskLogError", error.message) from None
    response = ranged_around(request, extent.size, extent.dropped, content, _PLAIN)
    response.headers.update(_HEADERS)
    return response


async def _task(parts: Services, job: Job, attempt: int, role: str, index: int) -> Task:
    tasks = (await attempt_of(parts, job, attempt)).tasks
    found = next((task for task in tasks if (task.role, task.index) == (role, index)), None)
    if found is None:
        raise PaiError(404, "NoTaskLogError", f"{job.name} has started no task {role}[{index}] in attempt {attempt}")
    return found
