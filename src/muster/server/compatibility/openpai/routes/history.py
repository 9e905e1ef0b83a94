"""What happened to a job: its events, and its tries."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso
from muster.server.access import Action, may
from muster.server.compatibility.openpai.attempts import Attempt, attempt_of
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiRoute
from muster.server.compatibility.openpai.job_views import status, totals
from muster.server.compatibility.openpai.names import find_job, pai_name
from muster.server.compatibility.openpai.task_views import task_roles
from muster.server.compatibility.openpai.times import milliseconds
from muster.server.routes.logs import visible
from muster.server.services import Services

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
_MAX_EVENTS = 1000
_WARNINGS = ("failed", "lost")


@router.get("/jobs/{name}/events")
async def get_events(
    name: str, me: Me, parts: Parts, wanted: Annotated[Literal["Normal", "Warning"] | None, Query(alias="type")] = None
) -> Response:
    """Lists the first thousand."""
    job = await find_job(parts, me, name, Action.JOB_SEE)
    found = await parts.context.store.events(job_id=job.id, limit=_MAX_EVENTS)
    seen = (visible(parts, me, event) for event in found)
    tasks = {task.name: task for task in await parts.context.store.tasks(job.id)}
    views = [_event_view(job, event, tasks) for event in seen if event is not None]
    data = [view for view in views if wanted in (None, view["type"])]
    return JSONResponse({"totalCount": len(data), "data": data})


@router.get("/jobs/{name}/job-attempts/healthz")
async def attempts_are_kept(name: str, me: Me, parts: Parts) -> Response:
    await find_job(parts, me, name, Action.JOB_SEE)
    return JSONResponse({"message": "the attempts of jobs are kept"})


@router.get("/jobs/{name}/job-attempts")
async def list_attempts(name: str, me: Me, parts: Parts) -> Response:
    job = await find_job(parts, me, name, Action.JOB_SEE)
    views = [await _attempt_view(parts, me, job, index) for index in range(max(job.attempt, 1))]
    return JSONResponse(views)


@router.get("/jobs/{name}/job-attempts/{index}")
async def get_job_attempt(name: str, index: int, me: Me, parts: Parts) -> Response:
    job = await find_job(parts, me, name, Action.JOB_SEE)
    return JSONResponse(await _attempt_view(parts, me, job, index))


async def _attempt_view(parts: Services, me: Principal, job: Job, index: int) -> dict[str, Any]:
    attempt: Attempt = await attempt_of(parts, job, index)
    may_read = may(me, Action.JOB_READ, job.owner, private=parts.private_jobs)
    told = status(job, attempt, parts.context.clock(), may_read=may_read)
    spec = told["appExitSpec"]
    return {
        "jobName": job.name,
        "frameworkName": pai_name(job),
        "uid": told["appId"],
        "userName": job.owner,
        "state": attempt.state,
        "originState": told["subState"],
        "maxAttemptCount": job.spec.retry_max + 1,
        "attemptIndex": index,
        "jobStartedTime": milliseconds(job.created_at),
        "attemptStartedTime": told["appLaunchedTime"],
        "attemptCompletedTime": told["appCompletedTime"],
        "exitCode": attempt.exit_code,
        "exitPhrase": None if spec is None else spec["phrase"],
        "exitType": told["appExitType"],
        **{key: value for key, value in told.items() if key.startswith("appExit")},
        "exitDiagnostics": _diagnostics(told),
        **totals(job),
        "totalTasknumber": totals(job)["totalTaskNumber"],
        "taskRoles": task_roles(job, attempt, may_read=may_read),
        "isLatest": index == max(job.attempt, 1) - 1,
    }


def _diagnostics(told: Mapping[str, Any]) -> dict[str, Any] | None:
    if told["appExitMessages"] is None:
        return None
    return {"diagnosticsSummary": told["appExitDiagnostics"], **told["appExitMessages"]}


def _event_view(job: Job, event: Event, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """`tasks` are those of the job by name. The times are written as Kubernetes writes those of events."""
    subject, _, what = event.kind.partition(".")
    name = str(event.data.get("name", ""))
    task = tasks.get(name) if subject == "task" else None
    reason = str(event.data.get("reason") or "")
    at = iso(event.at)
    return {
        "uid": str(event.seq),
        "frameworkName": pai_name(job),
        "podUid": "" if task is None else task.id,
        "taskroleName": "" if task is None else task.role,
        "taskName": "" if task is None else name,
        "taskIndex": None if task is None else task.index,
        "type": "Warning" if what in _WARNINGS else "Normal",
        "reason": "".join(part.capitalize() for part in event.kind.replace("-", ".").split(".")),
        "message": f"{name}: {reason}" if reason else f"{name}: {what}",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "sourceComponent": "muster",
        "sourceHost": event.data.get("node") or None,
    }
