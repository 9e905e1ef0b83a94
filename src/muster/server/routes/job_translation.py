"""The route that shows what a job file of another system becomes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import TranslatedOut
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.job_reading import read_job, submitted_again
from muster.server.services import Services, authenticated, services
from muster.wire import requests
from muster.wire.imported_specs import origins_as_written
from muster.wire.response_models import response_model
from muster.wire.written_specs import spec_as_written

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_LEFT_OUT = (
    "the value of the secret {name} is left out; `muster secret set {name}` stores it before the spec is submitted"
)


@router.post("/jobs:translate", response_model=response_model(TranslatedOut), summary="Show what a job file becomes")
async def translate_job(body: requests.SubmitIn, me: Me, parts: Parts) -> Response:
    """Answers the Muster spec of a job file of another system, and where each part of it came from. Nothing is stored.
    Submitting the spec makes the same job as submitting the file, once secrets whose values the file contains are
    stored; a warning names each of them."""
    require(me, Action.JOB_SUBMIT)
    reading = await read_job(submitted_again(body), parts, me.name)
    written = spec_as_written(reading.spec)
    origins = origins_as_written(written, reading.origins)
    warnings = [*reading.warnings, *(_LEFT_OUT.format(name=name) for name in sorted(reading.secrets))]
    return JSONResponse(TranslatedOut(spec=written, origins=origins, warnings=warnings))
