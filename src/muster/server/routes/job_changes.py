"""Routes that change a waiting job, or submit an ended one again with changes."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import JobOut
from muster.domain.specs import JobSpec
from muster.engine.requests import changing, commands
from muster.engine.requests.accounts import Principal
from muster.server.access import Action
from muster.server.job_reading import read_job, submitted_again
from muster.server.request_keys import RepeatKey, request_key
from muster.server.services import Services, authenticated, services
from muster.server.submission_warnings import relating_problems_to, with_warnings
from muster.server.token_scopes import require_token_of_any_job
from muster.wire import requests
from muster.wire.response_models import response_model
from muster.wire.spec_patch import changed_spec

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": response_model(JobOut), "description": "The job of an earlier call with this Idempotency-Key."},
    201: {"description": "The new job, which is queued."},
}


@router.post("/jobs/{ref}/bump", response_model=response_model(JobOut), summary="Give a waiting job another priority")
async def bump(ref: str, me: Me, parts: Parts, body: requests.BumpIn | None = None) -> Response:
    """The owner may choose what the virtual cluster allows; admins may choose any priority."""
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    wanted = (body or requests.BumpIn()).priority
    bumped = await changing.bump(parts.context, job.id, me.name, wanted, is_admin=me.is_admin)
    return JSONResponse(parts.job_view(me, bumped))


@router.post("/jobs/{ref}/move", response_model=response_model(JobOut), summary="Move a waiting job to another cluster")
async def move(ref: str, me: Me, parts: Parts, body: requests.MoveIn) -> Response:
    """The target is a virtual or a physical cluster, and the rules of a submission there apply."""
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    return JSONResponse(parts.job_view(me, await changing.move_to(parts.context, job.id, me.name, body.to)))


@router.post("/jobs/{ref}/change", response_model=response_model(JobOut), summary="Change the spec of a waiting job")
async def change(ref: str, me: Me, parts: Parts, body: requests.ChangeIn) -> Response:
    """Changes values by path, params, which are put into the commands anew, or, with `source`, the whole spec. The
    changed spec is validated like a submission. A running job is a conflict: hold it first. A token of one job can
    change none."""
    job = await parts.find_job(me, ref, Action.JOB_CHANGE)
    require_token_of_any_job(me.token, "change its spec")
    changed = sorted([*body.values, *(f"params.{name}" for name in body.params)])
    if not body.has_spec:
        done = await changing.change(
            parts.context,
            job.id,
            me.name,
            lambda spec: changed_spec(spec, body.values, body.params),
            version=body.version,
            changed=changed,
        )
        return JSONResponse(parts.job_view(me, done))
    reading = await read_job(submitted_again(body), parts, job.owner)
    with relating_problems_to(reading):
        done = await changing.change(
            parts.context,
            job.id,
            me.name,
            lambda _: reading.spec,
            version=body.version,
            carried=reading.secrets,
            changed=["spec", *changed],
        )
    return with_warnings(JSONResponse(parts.job_view(me, done)), reading.warnings)


@router.post(
    "/jobs/{ref}/retry",
    status_code=201,
    response_model=response_model(JobOut),
    responses=_AGAIN,
    summary="Submit it again",
)
async def retry(
    ref: str, me: Me, parts: Parts, body: requests.AgainIn | None = None, idempotency_key: RepeatKey = None
) -> Response:
    """A new job with the same spec, or a changed one, once the old one has ended. Changes are validated like a
    submission; a token of one job can make none. A repeated call with the same Idempotency-Key answers the job of the
    first one."""
    job = await parts.find_job(me, ref, Action.JOB_RETRY)
    asked = body or requests.AgainIn()
    given = asked.model_dump(exclude_defaults=True)
    if given:
        require_token_of_any_job(me.token, "submit it with another spec")
    key = request_key(me, idempotency_key, ["retry", ref, given] if given else ["retry", ref])
    if not asked.has_spec:

        def respec(spec: JobSpec) -> JobSpec:
            return changed_spec(spec, asked.values, asked.params) if given else spec

        again, is_new = await commands.retry(parts.context, job, me.name, key, respec)
        return JSONResponse(parts.job_view(me, again), 201 if is_new else 200)
    reading = await read_job(submitted_again(asked), parts, job.owner)
    with relating_problems_to(reading):
        again, is_new = await commands.retry(
            parts.context, job, me.name, key, lambda _: reading.spec, carried=reading.secrets
        )
    return with_warnings(JSONResponse(parts.job_view(me, again), 201 if is_new else 200), reading.warnings)
