"""Routes for models: register outputs of a job as a version, list, download and remove them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import FileResponse, JSONResponse

from muster.api.models import ModelList, ModelOut
from muster.domain.errors import Invalid, NotFound
from muster.domain.experiments.models import Model
from muster.engine.data import models
from muster.engine.data.models import Registration
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may, require
from muster.server.any_paths import ANY_PATH
from muster.server.services import Services, authenticated, services
from muster.wire.model_views import model_view, model_with_files_view
from muster.wire.requests import MYSELF, ModelIn
from muster.wire.response_models import response_model

router = APIRouter(tags=["models"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Ref = Annotated[str, Path(max_length=100, description="The name of a model, or the id of a version.")]
Version = Annotated[int | None, Query(ge=1, le=1 << 30, description="The newest one if absent.")]
Owner = Annotated[str | None, Query(max_length=100, description="Yours if absent. Only admins see those of others.")]
_RAW = "application/octet-stream"
_BINARY = {"content": {_RAW: {"schema": {"type": "string", "format": "binary"}}}}
_REGISTERED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The newest version, which has the same files of the same job."},
    201: {"description": "The new version."},
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {**_BINARY, "description": "All of it."},
    206: {**_BINARY, "description": "The range."},
}


@router.post(
    "/models",
    status_code=201,
    response_model=response_model(ModelOut),
    responses=_REGISTERED,
    summary="Register a model",
)
async def register_model(body: ModelIn, me: Me, parts: Parts) -> Response:
    """Copies outputs of a job to a new version of the model, which belongs to the owner of the job. A version never
    changes, and stays when the job is deleted. The same files of the same job again make no new version."""
    job = await parts.find_job(me, body.job, Action.JOB_READ)
    given = Registration(body.name, body.path, body.description, body.attempt)
    model, is_new = await models.register(parts.context, job, given, me.name)
    return JSONResponse(model_with_files_view(model), 201 if is_new else 200)


@router.get("/models", response_model=response_model(ModelList), summary="List models")
async def list_models(
    me: Me,
    parts: Parts,
    owner: Owner = None,
    name: Annotated[str | None, Query(max_length=100, description="All versions of this model, newest first.")] = None,
) -> Response:
    """Lists the newest version of each model, without files. `owner=*` are those of everybody, for admins."""
    wanted = me.name if owner in (None, MYSELF) else owner
    if not may(me, Action.MODEL_READ, wanted, private=parts.private_jobs):
        return JSONResponse(ModelList(items=[]))
    of = None if wanted == "*" else wanted
    store = parts.context.store
    found = await store.models(of) if name is None else await store.model_versions(of, name)
    return JSONResponse(ModelList(items=[model_view(model) for model in found]))


@router.get("/models/{ref}", response_model=response_model(ModelOut), summary="One model, with its files")
async def get_model(ref: Ref, me: Me, parts: Parts, version: Version = None, owner: Owner = None) -> Response:
    return JSONResponse(model_with_files_view(await _find(parts, me, ref, version, owner)))


@router.delete("/models/{ref}", status_code=204, summary="Remove versions of a model")
async def remove_model(
    ref: Ref,
    me: Me,
    parts: Parts,
    version: Annotated[int | None, Query(ge=1, le=1 << 30, description="Only this one.")] = None,
    every: Annotated[bool, Query(alias="all", description="All versions.")] = False,
    owner: Owner = None,
) -> None:
    """Removes a version with its files, or all of them. It is named by `version` or by its id. No other version ever
    gets its number."""
    model = await _find(parts, me, ref, version, owner)
    require(me, Action.MODEL_REMOVE, model.owner)
    if every:
        versions = await parts.context.store.model_versions(model.owner, model.name)
    elif version is not None or ref == model.id:
        versions = [model]
    else:
        raise Invalid("say which version is removed", hint=f"?version={model.version} is the newest, ?all=true are all")
    await models.remove(parts.context, versions, me.name)


@router.get(
    f"/models/{{ref}}/files/{{path:{ANY_PATH}}}",
    response_class=FileResponse,
    responses=_FILE,
    summary="One file of a model",
)
async def get_model_file(
    ref: Ref, path: str, me: Me, parts: Parts, version: Version = None, owner: Owner = None
) -> Response:
    """Accepts a Range. The sha256 of the file is in the model."""
    model = await _find(parts, me, ref, version, owner)
    place = await models.file_of(parts.context, model, path)
    if not place.is_file():
        raise NotFound(f"the file {path!r} is not on this server any more")
    return FileResponse(place, media_type=_RAW, headers={"Content-Disposition": "attachment"})


async def _find(parts: Services, me: Principal, ref: str, version: int | None, owner: str | None) -> Model:
    """One that the caller may not read is refused with the same words as one that never existed."""
    store = parts.context.store
    wanted = me.name if owner in (None, MYSELF) else owner
    assert wanted is not None
    model = await store.model(wanted, ref, version) or await store.model_by_id(ref)
    if model is None or not may(me, Action.MODEL_READ, model.owner, private=parts.private_jobs):
        of_version = "" if version is None else f"@{version}"
        raise NotFound(f"there is no model {ref}{of_version}", hint="see `muster model list`")
    return model
