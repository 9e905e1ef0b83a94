"""Routes by which admins read and edit cluster files."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse

from muster.api.cluster_files import ClusterFileChange, ClusterFileList, ClusterFileOut
from muster.api.problems import ProblemItem
from muster.domain.errors import NotFound, Problem
from muster.engine.requests import cluster_files
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso
from muster.ports.cluster_config import ClusterFile
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire.requests import ClusterFileIn
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Name = Annotated[str, Path(max_length=200, description="Such as `lab.yaml`.")]
DryRun = Annotated[bool, Query(alias="dryRun", description="Change nothing: answer problems and the difference.")]


@router.get("/cluster-files", response_model=response_model(ClusterFileList), summary="List cluster files")
async def list_cluster_files(me: Me, parts: Parts) -> Response:
    """All requests about cluster files are for admins."""
    require(me, Action.CLUSTER_FILES)
    found = await cluster_files.listed(parts.context)
    return JSONResponse(ClusterFileList(items=[_view(parts, file) for file in found]))


@router.get("/cluster-files/{name}", response_model=response_model(ClusterFileOut), summary="One cluster file")
async def get_cluster_file(
    name: Name,
    me: Me,
    parts: Parts,
    previous: Annotated[bool, Query(description="The version before the last change through the API.")] = False,
) -> Response:
    """Passwords that somebody wrote into it are hidden: they belong into files of their own."""
    require(me, Action.CLUSTER_FILES)
    found = await cluster_files.found(parts.context, name, previous=previous)
    return JSONResponse({**_view(parts, found), "text": found.text})


@router.put("/cluster-files/{name}", response_model=response_model(ClusterFileChange), summary="Write a cluster file")
async def put_cluster_file(name: Name, body: ClusterFileIn, me: Me, parts: Parts, dry_run: DryRun = False) -> Response:
    """Checked as by `muster cluster check`, and refused if anything is wrong. It is replaced as a whole and in force at
    once, and the version before is kept. `base` is the `sha256` of the version that was edited: if another one is there
    now, the answer is 409."""
    require(me, Action.CLUSTER_FILES)
    if dry_run:
        return JSONResponse(await _tried(parts, name, body.text))
    trial, made = await cluster_files.write(parts.context, name, body.text, body.base, actor=me.name)
    return JSONResponse(_change(name, trial, sha256=made.sha256 if made else None, is_written=True))


@router.delete(
    "/cluster-files/{name}", response_model=response_model(ClusterFileChange), summary="Remove a cluster file"
)
async def remove_cluster_file(
    name: Name,
    me: Me,
    parts: Parts,
    dry_run: DryRun = False,
    base: Annotated[str | None, Query(max_length=64, description="The `sha256` of the version that is meant.")] = None,
) -> Response:
    """Refused if other files need what it defines. The cluster takes no new jobs, and is gone when its last tasks have
    ended. The version that was there is kept."""
    require(me, Action.CLUSTER_FILES)
    if dry_run:
        return JSONResponse(await _tried(parts, name, None))
    trial, _ = await cluster_files.write(parts.context, name, None, base, actor=me.name)
    return JSONResponse(_change(name, trial, sha256=None, is_written=True))


async def _tried(parts: Services, name: str, text: str | None) -> ClusterFileChange:
    trial = await cluster_files.tried(parts.context, name, text)
    try:
        present = (await cluster_files.found(parts.context, name, previous=False)).sha256
    except NotFound:
        present = None
    return _change(name, trial, sha256=present, is_written=False)


def _change(name: str, trial: cluster_files.Trial, *, sha256: str | None, is_written: bool) -> ClusterFileChange:
    return {
        "name": name,
        "isWritten": is_written,
        "problems": _problems(trial.problems),
        "warnings": list(trial.warnings),
        "diff": trial.diff,
        "sha256": sha256,
    }


def _view(parts: Services, file: ClusterFile) -> ClusterFileOut:
    config = parts.context.config
    mine = [problem for problem in config.problems if problem.file == file.name]
    unreadable = [Problem("", file.problem, file=file.name)] if file.problem and not mine else []
    return {
        "name": file.name,
        "sha256": file.sha256,
        "sizeBytes": file.size_bytes,
        "modifiedAt": iso(file.modified_at),
        "isInForce": file.is_in_force,
        "isMasked": file.is_masked,
        "hasPrevious": file.has_previous,
        "clusters": [cluster.name for cluster in config.physical if cluster.file == file.name],
        "problems": _problems([*mine, *unreadable]),
    }


def _problems(problems: Sequence[Problem]) -> list[ProblemItem]:
    return [
        {"path": problem.path, "message": problem.message, "hint": problem.hint, "line": problem.line}
        for problem in problems
    ]
