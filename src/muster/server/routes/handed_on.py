"""Routes for another Muster server that has a cluster of this one as its own: see ADR 24.

It submits attempts of its jobs, asks about all of them at once, stops tasks one by one, and says when it needs a job no
more. Logs, outputs and commands go by the routes that everybody uses.
"""

import binascii
import json
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.api.handed_on import HandedOnJob, HandedOnList, HandedOnOut
from muster.domain.errors import Conflict, Invalid
from muster.domain.jobs import Job
from muster.domain.specs import HandedOn
from muster.engine.requests.accounts import Principal
from muster.engine.requests.explaining import live_reason
from muster.engine.requests.handing_on import handed_on, let_go, reached, stop_some, take
from muster.engine.state.event_hub import Subscription
from muster.ports.store import RequestKey
from muster.server.access import Action, require
from muster.server.job_reading import read_job, submitted_again
from muster.server.leaving import only_while_connected
from muster.server.services import Services, authenticated, services
from muster.server.submission_warnings import relating_problems_to
from muster.wire import requests
from muster.wire.handed_on_views import handed_on_job_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MAX_WAIT_S = 60.0
_TAKEN: dict[int | str, dict[str, Any]] = {
    200: {"model": response_model(HandedOnOut), "description": "The job of an earlier call with this Idempotency-Key."},
    201: {"description": "The job, which is queued."},
}


@router.post(
    "/jobs:handed-on",
    status_code=201,
    response_model=response_model(HandedOnOut),
    responses=_TAKEN,
    summary="Hand on a job of another server",
)
async def hand_on(
    body: requests.HandOnIn, me: Me, parts: Parts, idempotency_key: Annotated[str, Header(max_length=200)]
) -> Response:
    """Submits the attempt of another server's job as a job of the caller. A repeated call with the same Idempotency-Key
    answers the job of the first one. It is begun once, and its secrets are removed with it."""
    require(me, Action.JOB_SUBMIT)
    own = parts.own_process.installation
    if body.to != own:
        raise Conflict(
            f"this is server {own}, and the job is meant for {body.to}",
            hint="all addresses of a cluster with `backend: muster` must lead to one installation",
        )
    secrets = _secrets(body.secrets)
    reading = await read_job(submitted_again(requests.SubmitIn(spec=body.spec)), parts, me.name)
    origin = HandedOn(body.server, body.cluster, body.job, body.attempt, body.owner, tuple(body.via))
    key = RequestKey(me.name, idempotency_key)
    with relating_problems_to(reading):
        job, is_new = await take(parts.context, reading.spec, origin, own, me.name, key, secrets)
    return JSONResponse(HandedOnOut(id=job.id, isNew=is_new), 201 if is_new else 200)


@router.get("/jobs:handed-on", response_model=response_model(HandedOnList), summary="Jobs of another server")
async def list_handed_on(
    request: Request,
    me: Me,
    parts: Parts,
    server: Annotated[str, Query(pattern=requests.INSTALLATION_PATTERN, description="Who has handed them on.")],
    cluster: Annotated[str, Query(min_length=1, max_length=100, description="What it calls this cluster.")],
    known: Annotated[str, Query(max_length=64, description="The tag of an earlier answer.")] = "",
    wait_s: Annotated[
        float, Query(alias="wait", ge=0, le=_MAX_WAIT_S, description="How long to wait for another answer.")
    ] = 0.0,
) -> Response:
    """Answers those of the caller's jobs that this server has handed on and not let go of, with their tasks. With
    `known` and `wait` it answers when something is not as it was, at the latest after that time."""
    with parts.bounds.servers.held(me.name), parts.context.hub.subscribe() as changes:
        deadline = parts.context.clock() + wait_s
        async with only_while_connected(request):
            while True:
                items = await _items(parts, me, server, cluster)
                found = _answer(parts, me, items)
                if found["tag"] != known:
                    break
                if not await _something_happened(parts, me, changes, deadline):
                    break
    await parts.accounts.recheck(me)
    return JSONResponse(found)


@router.delete("/jobs:handed-on/{ref}", status_code=204, summary="Let go of a job of another server")
async def let_go_of(ref: str, me: Me, parts: Parts) -> None:
    """The server that has handed it on has all that it needs of it. The job stays in the history here."""
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    await let_go(parts.context, job, me.name)


@router.post("/jobs/{ref}/stop-tasks", status_code=202, summary="Stop some of its tasks")
async def stop_tasks(ref: str, me: Me, parts: Parts, body: requests.StopTasksIn) -> Response:
    """The others go on. If none is left then, the job is stopped. Answers `waiting`: those that have not begun, and
    that only wait together with others."""
    job = await parts.find_job(me, ref, Action.JOB_STOP)
    waiting = await stop_some(parts.context, job.id, set(body.tasks), me.name, body.grace)
    return JSONResponse({"waiting": waiting}, 202)


async def _something_happened(parts: Services, me: Principal, changes: Subscription, deadline: float) -> bool:
    """Whether something happened to a job of the caller before the deadline, also to one that is new."""
    while (left := deadline - parts.context.clock()) > 0 and not changes.is_cut_off:
        if any(event.owner == me.name for event in await changes.take(left)):
            return True
    return False


async def _items(parts: Services, me: Principal, server: str, cluster: str) -> list[HandedOnJob]:
    found = await handed_on(parts.context, me.name, server, cluster)
    points = await parts.context.store.metric_counts([job.id for job, _ in found], attempt=1)
    return [handed_on_job_view(job, tasks, _reason(parts, job), points.get(job.id, 0)) for job, tasks in found]


def _reason(parts: Services, job: Job) -> str:
    live = live_reason(parts.context, job)
    return live.message if live is not None else job.reason


def _answer(parts: Services, me: Principal, items: list[HandedOnJob]) -> HandedOnList:
    tag = sha256(json.dumps([_without_metrics(item) for item in items], sort_keys=True).encode()).hexdigest()[:16]
    return HandedOnList(
        installation=parts.own_process.installation,
        reaches=sorted(reached(parts.context)),
        user=me.name,
        tag=tag,
        items=items,
    )


def _without_metrics(item: HandedOnJob) -> dict[str, Any]:
    """Metrics come all the time, and nobody waits for them."""
    return {key: value for key, value in item.items() if key != "metricPoints"}


def _secrets(given: Mapping[str, str]) -> dict[str, str]:
    """Values need not be text. Bytes that are none are escaped, as the engine expects them."""
    try:
        return {
            name: b64decode(value, validate=True).decode("utf-8", "surrogateescape") for name, value in given.items()
        }
    except (ValueError, binascii.Error):
        raise Invalid("secrets: a value is not Base64") from None
