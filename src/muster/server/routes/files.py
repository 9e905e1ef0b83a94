"""Routes for files on the nodes: the folders that a cluster shows, their content, uploads and downloads."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.api.files import DigestOut, FileList, FileOut, FolderList, ProgressOut, UploadOut
from muster.domain.accounts import UserRole
from muster.domain.errors import TooLarge
from muster.engine.data.file_places import Address
from muster.engine.data.files import Receipt, Running, Sending
from muster.engine.requests.accounts import Principal
from muster.ports.files import FileKind, WrongKind
from muster.server.access import Action, require
from muster.server.ranges import ranged
from muster.server.services import Services, authenticated, services
from muster.wire import file_requests as requests
from muster.wire.file_views import digest_view, file_view, folder_view, progress_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["files"], prefix="/clusters/{cluster}/files")
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Path = Annotated[str, Query(min_length=1, max_length=requests.MAX_PATH, description=requests.PATH_DESCRIPTION)]
Node = Annotated[str | None, Query(max_length=253, description="Needed where each node has its own files.")]
Run = Annotated[str | None, Query(max_length=64, description="The `run` of the answer before, to go on.")]
Sha256 = Annotated[str, Query(pattern=r"^[0-9a-f]{64}$", description="The digest of the whole file.")]
MAX_BODY_BYTES = 8 << 20
_CHECKED_AT_ONCE = 64 << 20
"""Smaller files come with their digest."""
_RAW = "application/octet-stream"
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_HEADERS = {
    "ETag": {"schema": {"type": "string"}, "description": "The file's version."},
    "X-Checksum": {"schema": {"type": "string"}, "description": "`sha256:…` of the whole file, if it is not large."},
}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {_RAW: _BINARY}, "description": "All of it.", "headers": _HEADERS},
    206: {"content": {_RAW: _BINARY}, "description": "The range.", "headers": _HEADERS},
}
_BODY = {"requestBody": {"content": {_RAW: _BINARY}}}


async def _address(cluster: str, path: Path, node: Node = None) -> Address:
    """It is asynchronous although it waits for nothing, because FastAPI would run a plain function in a thread."""
    return Address(cluster, path, node or None)


Where = Annotated[Address, Depends(_address)]


@router.get("/folders", response_model=response_model(FolderList), summary="The folders of a cluster")
async def list_folders(cluster: str, me: Me, parts: Parts) -> Response:
    """Lists the folders that the caller may use."""
    require(me, Action.CLUSTER_SEE)
    return JSONResponse(FolderList(items=[folder_view(folder) for folder in parts.files.folders(me.user, cluster)]))


@router.get("", response_model=response_model(FileList), summary="What is in a folder")
async def list_files(
    where: Where,
    me: Me,
    parts: Parts,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """The list is sorted by name."""
    found = await parts.files.list(me.user, where, limit=limit, cursor=cursor)
    items = [file_view(entry.name, entry.facts, entry.target) for entry in found.entries]
    return JSONResponse(FileList(items=items, nextCursor=found.cursor))


@router.get("/stat", response_model=response_model(FileOut), summary="One file or folder")
async def file_facts(where: Where, me: Me, parts: Parts) -> Response:
    """Links are followed as long as they stay in their folder."""
    facts = await parts.files.stat(me.user, where)
    return JSONResponse(file_view(where.path.rstrip("/").rpartition("/")[2], facts))


@router.get("/content", response_class=Response, responses=_BYTES, summary="What is in a file")
async def file_content(request: Request, where: Where, me: Me, parts: Parts) -> Response:
    """Accepts a Range. If the file changes while it is sent, the connection is closed; the ETag names the version."""
    facts = await parts.files.stat(me.user, where)
    if facts.kind is not FileKind.FILE:
        raise WrongKind(f"{where.shown} is not a file but a {facts.kind}")
    headers = {"ETag": f'"{facts.version}"'}
    if facts.size <= _CHECKED_AT_ONCE:
        _, found = await parts.files.digest(me.user, where, None, facts.size)
        if found.sha256:
            headers["X-Checksum"] = f"sha256:{found.sha256}"

    def content(start: int, end: int) -> AsyncIterator[bytes]:
        return parts.files.read(me.user, where, start, end, facts.version)

    response = ranged(request, facts.size, content, _RAW)
    response.headers.update(headers)
    return response


@router.put("/content", response_model=response_model(UploadOut), summary="Put a piece of a file", openapi_extra=_BODY)
async def put_file(
    request: Request,
    where: Where,
    me: Me,
    parts: Parts,
    size: Annotated[int, Query(ge=0, le=2**50, description="Bytes in all.")],
    sha256: Sha256,
    offset: Annotated[int, Query(ge=0, le=2**50)] = 0,
    overwrite: bool = False,
    executable: bool = False,
) -> Response:
    """Pieces of at most 8 MiB, in order. The file appears under its name once it is whole and its digest is right.
    After a break, ask how much is here and go on from there. A wrong offset is answered 409 with the right one in
    `received`. If the answer to the last piece is not `complete`, its digest is still being checked: repeat with an
    empty piece at the end."""
    sending = Sending(size, sha256, overwrite, executable)
    with parts.bounds.uploads.held(me.name):
        data = await request.body()
        if len(data) > MAX_BODY_BYTES:
            raise TooLarge(f"a piece may have at most {MAX_BODY_BYTES} bytes")
        receipt = await parts.files.receive(me.user, where, sending, offset=offset, data=data)
    return JSONResponse(_receipt(where, size, receipt))


@router.get("/upload", response_model=response_model(UploadOut), summary="How much of a file is here")
async def upload_status(
    where: Where,
    me: Me,
    parts: Parts,
    sha256: Sha256,
    check: Annotated[bool, Query(description="Also answer the digest of what is here.")] = False,
) -> Response:
    receipt = await parts.files.received(me.user, where, Sending(0, sha256), check=check)
    return JSONResponse(_receipt(where, 0, receipt))


@router.delete("/upload", status_code=204, summary="Drop what is here of a file")
async def abort_upload(where: Where, me: Me, parts: Parts, sha256: Sha256) -> Response:
    await parts.files.abort(me.user, where, Sending(0, sha256))
    return Response(status_code=204)


@router.get("/digest", response_model=response_model(DigestOut), summary="The sha256 of a file")
async def file_digest(
    where: Where,
    me: Me,
    parts: Parts,
    length: Annotated[
        int | None, Query(ge=0, le=2**50, description="Answer the digest of this many first bytes only.")
    ] = None,
    run: Run = None,
) -> Response:
    run, found = await parts.files.digest(me.user, where, run, length)
    return JSONResponse(digest_view(where.path, run, found))


@router.get("/usage", response_model=response_model(ProgressOut), summary="How much there is in a folder")
async def file_usage(where: Where, me: Me, parts: Parts, run: Run = None) -> Response:
    return _progress(await parts.files.usage(me.user, where, run))


@router.post("/mkdir", status_code=201, response_model=response_model(FileOut), summary="Make a folder")
async def make_folder(cluster: str, body: requests.FolderIn, me: Me, parts: Parts) -> Response:
    where = Address(cluster, body.path, body.node or None)
    # A private folder belongs to the account under which the jobs of its owner run, also if they are an admin.
    owner = replace(me.user, role=UserRole.USER) if body.private else me.user
    await parts.files.make_folder(owner, where, parents=body.parents, private=body.private)
    facts = await parts.files.stat(me.user, where)
    return JSONResponse(file_view(where.path.rstrip("/").rpartition("/")[2], facts), 201)


@router.post("/move", response_model=response_model(ProgressOut), summary="Move or rename")
async def move_file(cluster: str, body: requests.FileMoveIn, me: Me, parts: Parts) -> Response:
    """The target may be in another folder of the same cluster."""
    where, to = (Address(cluster, path, body.node or None) for path in (body.path, body.to))
    return _progress(await parts.files.move(me.user, where, to, body.run, overwrite=body.overwrite))


@router.post("/copy", response_model=response_model(ProgressOut), summary="Copy")
async def copy_file(cluster: str, body: requests.FileCopyIn, me: Me, parts: Parts) -> Response:
    """The target may be in another folder of the same cluster. No data passes through the server."""
    where, to = (Address(cluster, path, body.node or None) for path in (body.path, body.to))
    running = await parts.files.copy(me.user, where, to, body.run, recursive=body.recursive, overwrite=body.overwrite)
    return _progress(running)


@router.delete("", response_model=response_model(ProgressOut), summary="Remove")
async def remove_file(where: Where, me: Me, parts: Parts, recursive: bool = False, run: Run = None) -> Response:
    """A link is removed itself, never its target."""
    return _progress(await parts.files.remove(me.user, where, run, recursive=recursive))


def _progress(running: Running) -> Response:
    return JSONResponse(progress_view(running.run, running.tally))


def _receipt(where: Address, size: int, receipt: Receipt) -> UploadOut:
    return {
        "path": where.path,
        "size": size,
        "received": receipt.received,
        "complete": receipt.complete,
        "sha256": receipt.sha256,
    }
