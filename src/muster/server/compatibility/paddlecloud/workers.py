"""The tasks of jobs as pods, the parameter servers as replica sets, and what the tasks print."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.domain.errors import NotFound
from muster.domain.jobs import Job
from muster.domain.specs import PS_ROLE
from muster.domain.tasks import Task
from muster.engine.data.following import LogCursor, Unread, Wanted, follow_job
from muster.engine.requests.accounts import Principal
from muster.server.access import Action
from muster.server.compatibility.paddlecloud.answering import OK, InWords, both, caller_of, simple
from muster.server.compatibility.paddlecloud.kube_views import listing, pod_name, pod_object, pserver_object
from muster.server.compatibility.paddlecloud.own_jobs import listed_jobs, own_job, servers, tasks_of, trainers
from muster.server.services import Services, services

router = APIRouter(route_class=InWords, include_in_schema=False)
Me = Annotated[Principal, Depends(caller_of("/api/v1/jobs"))]
Parts = Annotated[Services, Depends(services)]
_LINE = "=" * 26
_MOST_LINES = 100_000
_MOST_CHARACTERS = 8 << 20
"""How much one answer has of all logs together. It is held in memory until it is sent."""
_LEFT_OUT = "\n… the rest is left out: ask for fewer lines (-n), or for one worker (-w)\n"


async def list_pservers(me: Me, parts: Parts) -> Response:
    jobs = [job for job in await listed_jobs(parts, me) if any(role.name == PS_ROLE for role in job.spec.roles)]
    items = [pserver_object(job, servers(await tasks_of(parts, job))) for job in jobs]
    return JSONResponse(listing(items, "ReplicaSetList"))


async def list_workers(me: Me, parts: Parts, jobname: str = "") -> Response:
    """List the trainers of a job, also while a killed one cleans up, or all tasks of all jobs if no job is named."""
    if jobname:
        try:
            job = await own_job(parts, me, jobname, Action.JOB_READ)
        except NotFound:
            return JSONResponse(listing([], "PodList"))
        pods = [pod_object(job, task) for task in trainers(await tasks_of(parts, job))]
    else:
        jobs = await listed_jobs(parts, me)
        pods = [pod_object(job, task) for job in jobs for task in await tasks_of(parts, job)]
    return JSONResponse(listing(pods, "PodList"))


async def get_logs(
    me: Me, parts: Parts, jobname: str = "", n: Annotated[str, Query(max_length=12)] = "", w: str = ""
) -> Response:
    job = await own_job(parts, me, jobname, Action.JOB_READ)
    lines = min(int(n), _MOST_LINES) if n.isascii() and n.isdigit() else None
    tasks = await tasks_of(parts, job)
    if w:
        chosen = [task for task in tasks if w in (pod_name(job, task), task.name, f"{task.role}-{task.index}")]
        if not chosen:
            raise NotFound(f"job {jobname} has no worker {w}")
        printed = await _printed(parts, job, chosen, lines)
        return simple(OK, printed[chosen[0].name])
    chosen = trainers(tasks)
    printed = await _printed(parts, job, chosen, lines)
    blocks = (f"{_LINE}{pod_name(job, task)}{_LINE}\n{_ended(printed[task.name])}" for task in chosen)
    return simple(OK, "".join(blocks))


for _path in both("/api/v1/pservers"):
    router.add_api_route(_path, list_pservers, methods=["GET"], include_in_schema=False)
for _path in both("/api/v1/workers"):
    router.add_api_route(_path, list_workers, methods=["GET"], include_in_schema=False)
for _path in both("/api/v1/logs"):
    router.add_api_route(_path, get_logs, methods=["GET"], include_in_schema=False)


async def _printed(parts: Services, job: Job, tasks: list[Task], lines: int | None) -> dict[str, str]:
    """What each task printed, by its name."""
    found: dict[str, list[str]] = {task.name: [] for task in tasks}
    if not tasks:
        return {}
    wanted = Wanted(tuple(found), lines)
    left = _MOST_CHARACTERS
    with parts.bounds.streams.held(job.owner):
        async for _, piece in follow_job(parts.context, parts.logs, job, wanted, LogCursor()):
            if isinstance(piece, Unread):
                continue
            printed = piece.payload_text()
            found[piece.task].append(printed[:left])
            left -= len(printed)
            if left <= 0:
                found[piece.task].append(_LEFT_OUT)
                break
    return {name: "".join(pieces) for name, pieces in found.items()}


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
