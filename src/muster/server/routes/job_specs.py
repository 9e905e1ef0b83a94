"""Routes for what a job was asked to do: its spec, how that differs from another job's, and how tasks are started."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import SpecDiffOut, SpecOut, TaskEnvironmentOut
from muster.domain.errors import NotFound
from muster.engine.data.following import task_of_worker
from muster.engine.requests.accounts import Principal
from muster.engine.requests.task_environments import launch_request_of
from muster.lib.yaml_text import yaml_text
from muster.server.access import Action
from muster.server.launch_views import request_view
from muster.server.request_body import off_the_loop
from muster.server.services import Services, authenticated, services
from muster.server.spec_sources import spec_sources
from muster.wire.response_models import response_model
from muster.wire.spec_paths import differences
from muster.wire.specs import spec_to_wire
from muster.wire.written_specs import spec_as_written

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MOST_DIFFERENCES = 2000


@router.get("/jobs/{ref}/spec", response_model=response_model(SpecOut), summary="What was asked")
async def get_spec(ref: str, me: Me, parts: Parts) -> Response:
    """`sources` says which values are defaults of Muster or of the virtual cluster, as it is now, and which come from
    params. A value that the author wrote although it is the default is named, too."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    template = spec_as_written(job.spec)
    return JSONResponse(
        SpecOut(
            spec=spec_to_wire(job.spec),
            template=template,
            yaml=await off_the_loop(parts.parsing, yaml_text, template),
            sources=spec_sources(parts.context, job),
        )
    )


@router.get("/jobs/{ref}/diff", response_model=response_model(SpecDiffOut), summary="How it differs from another job")
async def get_spec_diff(
    ref: str,
    me: Me,
    parts: Parts,
    other: Annotated[str, Query(alias="with", max_length=400, description="The other job, by id or name.")],
) -> Response:
    """Compares the specs of two jobs, both of which you may read, path by path."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    second = await parts.find_job(me, other, Action.JOB_READ)
    found = differences(spec_to_wire(job.spec), spec_to_wire(second.spec))
    return JSONResponse(
        SpecDiffOut(
            other=second.id,
            items=[{"path": path, "mine": mine, "other": theirs} for path, mine, theirs in found[:_MOST_DIFFERENCES]],
            isCut=len(found) > _MOST_DIFFERENCES,
        )
    )


@router.get(
    "/jobs/{ref}/tasks/{task}/environment",
    response_model=response_model(TaskEnvironmentOut),
    summary="What a task is started with",
)
async def get_task_environment(
    ref: str,
    task: Annotated[str, Path(max_length=400, description="A task's name, or role-index.")],
    me: Me,
    parts: Parts,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
) -> Response:
    """The command, variables, ports and devices of a task, with `***` for the values of secrets. They follow from the
    job, its cluster's file and the task's place: of an attempt before either was changed, they are as they would be
    now."""
    job = await parts.find_job(me, ref, Action.JOB_READ)
    found = await task_of_worker(parts.context, job, task, attempt)
    if found is None:
        raise NotFound(f"{task} has not been started")
    request = await launch_request_of(parts.context, job, found)
    view = request_view(request, None)
    return JSONResponse(TaskEnvironmentOut(**view, attempt=found.attempt, worker=f"{found.role}-{found.index}"))
