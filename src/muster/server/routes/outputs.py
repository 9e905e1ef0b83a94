"""Routes for outputs, the files that the server collected from a job's tasks: list and download them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import FileResponse, JSONResponse

from muster.api.artifacts import OutputList, OutputOut
from muster.domain.errors import NotFound
from muster.engine.data import outputs
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso
from muster.server.access import Action
from muster.server.any_paths import ANY_PATH
from muster.server.services import Services, authenticated, services
from muster.wire.response_models import response_model

router = APIRouter(tags=["outputs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Attempt = Annotated[int | None, Query(ge=1, le=1_000_000, description="The newest if absent.")]
_RAW = "application/octet-stream"
_LAST_TIME = 253402300799.0
"""Tasks may set any modification time; the year 9999 is the last that ISO 8601 can express."""
_BINARY = {"content": {_RAW: {"schema": {"type": "string", "format": "binary"}}}}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {**_BINARY, "description": "All of it."},
    206: {**_BINARY, "description": "The range."},
}


@router.get("/jobs/{ref}/outputs", response_model=response_model(OutputList), summary="What its tasks left")
async def list_outputs(ref: str, me: Me, parts: Parts, attempt: Attempt = None) -> Response:
    """Lists the files named by `outputs` in the spec, which were collected after the tasks ended. In a job with several
    tasks, each path begins with the task: `worker-0/model/weights`."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    found = await outputs.listing(parts.context, job, attempt)
    items: list[OutputOut] = [
        {
            "path": output.path,
            "size": output.file.size,
            "sha256": output.file.sha256,
            "modifiedAt": iso(min(max(output.file.mtime, 0.0), _LAST_TIME)),
            "task": output.task,
        }
        for output in found.items
    ]
    return JSONResponse(
        OutputList(
            items=items,
            attempt=found.attempt,
            complete=found.complete,
            leftOut=list(found.left_out),
            problems=list(found.problems),
        )
    )


@router.get(
    f"/jobs/{{ref}}/outputs/{{path:{ANY_PATH}}}",
    response_class=FileResponse,
    responses=_FILE,
    summary="One file of them",
)
async def get_output(ref: str, path: str, me: Me, parts: Parts, attempt: Attempt = None) -> Response:
    """Accepts a Range. The sha256 of the file is in the list."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    output = await outputs.find(parts.context, job, path, attempt)
    if not output.place.is_file():
        raise NotFound(f"the output {path!r} has been removed from the server")
    return FileResponse(output.place, media_type=_RAW, headers={"Content-Disposition": "attachment"})
