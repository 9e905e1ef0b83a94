"""The route that records jobs which ended in another system."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import ImportedOut
from muster.domain.errors import Invalid, Problem
from muster.domain.failures.faults import Fault
from muster.domain.jobs import Cancelled, Failed, Succeeded
from muster.engine.requests.accounts import Principal
from muster.engine.requests.importing import EndedJob, import_ended
from muster.engine.requests.job_sets import problems_of
from muster.server.access import Action, require
from muster.server.request_body import off_the_loop
from muster.server.services import Services, authenticated, services
from muster.wire import requests
from muster.wire.dialects.detecting import Dialect
from muster.wire.documents import Document, refuse_too_much
from muster.wire.response_models import response_model
from muster.wire.spec_problems import MAX_PROBLEMS
from muster.wire.specs import spec_from_document

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_CODE = "imported"


@router.post(
    "/jobs:import",
    status_code=201,
    response_model=response_model(ImportedOut),
    summary="Record jobs that ended elsewhere, all or none",
)
async def import_jobs(body: requests.ImportIn, me: Me, parts: Parts) -> Response:
    """They belong to the caller, and have no tasks and no logs. The labels `imported-from` and `imported-id` say where
    they come from. Jobs that were recorded before are left as they are, so that the call can be repeated."""
    require(me, Action.JOB_IMPORT)
    ended = await off_the_loop(parts.parsing, _read_all, body, parts.dialects)
    jobs, imported = await import_ended(parts.context, body.source, ended, me.name, me.name)
    return JSONResponse(ImportedOut(items=[parts.job_view(me, job) for job in jobs], imported=imported), 201)


def _read_all(body: requests.ImportIn, dialects: Sequence[Dialect]) -> list[EndedJob]:
    read: list[EndedJob] = []
    problems: list[Problem] = []
    for place, one in enumerate(body.jobs):
        try:
            read.append(_read(one, dialects))
        except Invalid as error:
            problems += [replace(found, path=f"jobs.{place}.spec.{found.path}") for found in problems_of(error)]
    if problems:
        raise Invalid("some of these jobs are wrong, and none was recorded", problems=tuple(problems[:MAX_PROBLEMS]))
    return read


def _read(one: requests.EndedJobIn, dialects: Sequence[Dialect]) -> EndedJob:
    refuse_too_much(one.spec)
    started = None if one.started_at is None else one.started_at.timestamp()
    spec = spec_from_document(Document(one.spec), dialects=dialects)
    return EndedJob(one.id, spec, _state(one), one.created_at.timestamp(), started, one.reason)


def _state(one: requests.EndedJobIn) -> Succeeded | Failed | Cancelled:
    at = one.ended_at.timestamp()
    match one.state:
        case "Succeeded":
            return Succeeded(at)
        case "Failed":
            return Failed(at, Fault(one.fault, _CODE, one.reason or "It failed where it ran before"))
        case "Cancelled":
            return Cancelled(at)
