"""Routes for sweeps: submit, list, show and stop them, and list their members."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.sweeps import SweepDryRunOut, SweepMemberPage, SweepOut, SweepPage
from muster.domain.errors import Invalid, NotFound, Problem
from muster.domain.experiments.sweeps import MemberValue, Sweep, best_of, member_spec
from muster.engine.requests.accounts import Principal
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.explaining import live_reason
from muster.engine.sweeps import requests as sweeping
from muster.ports.store import SweepFilter
from muster.server.access import Action, may, require, require_of_sweep
from muster.server.dry_run_views import dry_run_view
from muster.server.job_reading import read_job
from muster.server.request_body import SUBMISSION_DOCUMENTED, Submitted, read_submission
from muster.server.request_keys import RepeatKey, request_key
from muster.server.services import Services, authenticated, services
from muster.server.state_filters import known_states
from muster.server.submission_warnings import relating_problems_to, with_warnings
from muster.wire.requests import MYSELF
from muster.wire.response_models import response_model
from muster.wire.specs import reading_of_any
from muster.wire.sweep_views import best_view, member_view, planned_member_view, sweep_view

router = APIRouter(tags=["sweeps"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_SHOWN = 5
_SUBMITTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": response_model(SweepOut) | response_model(SweepDryRunOut),
        "description": "The sweep of an earlier call with this Idempotency-Key; or, of a dry run, what it would make.",
    },
    201: {"description": "The sweep, of which the first members are queued."},
}


@router.post(
    "/sweeps",
    status_code=201,
    response_model=response_model(SweepOut),
    responses=_SUBMITTED,
    openapi_extra=SUBMISSION_DOCUMENTED,
    summary="Submit a sweep",
)
async def submit_sweep(
    submitted: Annotated[Submitted, Depends(read_submission)],
    me: Me,
    parts: Parts,
    is_dry_run: Annotated[bool, Query(alias="dryRun")] = False,
    idempotency_key: RepeatKey = None,
) -> Response:
    """Takes a job with `sweep` in its spec, however many members it has. A repeated call with the same Idempotency-Key
    answers the sweep of the first one. `dryRun=true` answers how many members there would be, the first few, and what
    would be started for the first, and makes nothing."""
    require(me, Action.JOB_SUBMIT)
    reading = await read_job(submitted, parts, me.name, reading_of_any)
    if reading.sweep is None:
        problem = Problem("sweep", "is required", "a job without it is sent to /api/v1/jobs")
        raise Invalid("the job spec has 1 problem", problems=(problem,))
    if is_dry_run:
        planned = sweeping.planned(parts.context, reading.spec, reading.sweep, me.name)
        with relating_problems_to(reading):
            run = await dry_run(parts.context, parts.look_ahead, member_spec(planned.spec, planned, 1), me.name)
        view = dry_run_view(run, reading.warnings)
        return JSONResponse(
            SweepDryRunOut(
                name=planned.name,
                members=planned.plan.count,
                params=list(planned.plan.names),
                seed=planned.plan.seed if planned.plan.random else None,
                first=[planned_member_view(planned, one + 1) for one in range(min(_SHOWN, planned.plan.count))],
                job=view["job"],
                run=view,
            )
        )
    key = request_key(me, idempotency_key, submitted.body.model_dump())
    with relating_problems_to(reading):
        sweep, is_new = await sweeping.submit(parts.context, reading.spec, reading.sweep, me.name, key)
    return with_warnings(JSONResponse(await _view(parts, me, sweep), 201 if is_new else 200), reading.warnings)


@router.get("/sweeps", response_model=response_model(SweepPage), summary="List sweeps")
async def list_sweeps(
    me: Me,
    parts: Parts,
    owner: Annotated[str | None, Query(description="`me` is you.")] = None,
    is_open: Annotated[bool | None, Query(alias="open", description="Only those that have not ended, or have.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """List sweeps, the newest first."""
    owner = me.name if owner == MYSELF else owner
    if not may(me, Action.SWEEP_SEE, owner, private=parts.private_jobs):
        if owner is not None:
            return JSONResponse(SweepPage(items=[], nextCursor=None))
        owner = me.name
    store = parts.context.store
    page = await store.sweeps(SweepFilter(owner=owner, is_open=is_open), limit=limit, cursor=cursor)
    counts = await store.member_counts([sweep.id for sweep in page.items])
    items = [sweep_view(sweep, counts[sweep.id], sweeping.waits_for(parts.context, sweep)) for sweep in page.items]
    return JSONResponse(SweepPage(items=items, nextCursor=page.next_cursor))


@router.get("/sweeps/{ref}", response_model=response_model(SweepOut), summary="One sweep, by id or name")
async def get_sweep(ref: str, me: Me, parts: Parts) -> Response:
    return JSONResponse(await _view(parts, me, await _find(parts, me, ref, Action.SWEEP_SEE)))


@router.get("/sweeps/{ref}/members", response_model=response_model(SweepMemberPage), summary="Its members")
async def list_members(
    ref: str,
    me: Me,
    parts: Parts,
    state: Annotated[list[str] | None, Query(description="Only members in these states; repeat for several.")] = None,
    after: Annotated[int, Query(ge=0, le=1 << 30, description="Only members with larger numbers.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Lists the members that are jobs by now, in order of their numbers. Members whose jobs were deleted are left
    out."""
    sweep = await _find(parts, me, ref, Action.SWEEP_READ)
    jobs = await parts.context.store.members(sweep.id, known_states(state or ()), after=after, limit=limit + 1)
    values = await _values(parts, sweep)
    items = [member_view(sweep, job, _reason(parts, job), values.get(job.member)) for job in jobs[:limit]]
    return JSONResponse(SweepMemberPage(items=items, nextMember=jobs[limit - 1].member if len(jobs) > limit else None))


@router.post("/sweeps/{ref}/stop", response_model=response_model(SweepOut), summary="Stop a sweep")
async def stop_sweep(ref: str, me: Me, parts: Parts) -> Response:
    """No more members are made, and those that have not ended are stopped. To stop it again changes nothing; a sweep
    that has ended by itself is 409."""
    sweep = await _find(parts, me, ref, Action.SWEEP_STOP)
    return JSONResponse(await _view(parts, me, await sweeping.stop(parts.context, sweep.id, me.name)))


async def _find(parts: Services, me: Principal, ref: str, action: Action) -> Sweep:
    """One that the caller may not see is refused with the same words as one that never existed."""
    sweep = await parts.find_sweep(me, ref)
    if sweep is None or not may(me, Action.SWEEP_SEE, sweep.owner, private=parts.private_jobs):
        raise NotFound(f"there is no sweep {ref!r}", hint="see `muster sweep list`")
    require_of_sweep(me, action, sweep, private=parts.private_jobs)
    return sweep


async def _view(parts: Services, me: Principal, sweep: Sweep) -> SweepOut:
    """Return the view of a sweep. Only those who may read its best member see that."""
    counts = await parts.context.store.member_counts([sweep.id])
    view = sweep_view(sweep, counts[sweep.id], sweeping.waits_for(parts.context, sweep))
    if sweep.plan.metric and may(me, Action.SWEEP_READ, sweep.owner, private=parts.private_jobs):
        view["best"] = best_view(sweep, best_of(sweep.plan.goal, list((await _values(parts, sweep)).values())))
    return view


async def _values(parts: Services, sweep: Sweep) -> dict[int, MemberValue]:
    if not sweep.plan.metric:
        return {}
    return {one.member: one for one in await parts.context.store.member_values(sweep)}


def _reason(parts: Services, job: Any) -> str:
    reason = live_reason(parts.context, job)
    return reason.message if reason is not None else str(job.reason)
