"""Whole files of paddlecloud's storage: put, get and list, as `paddlecloud file` and `paddlecloud submit` do."""

import posixpath
from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from muster.domain.accounts import User
from muster.domain.errors import Conflict, Invalid, MusterError, NotFound, TooLarge
from muster.engine.data.file_places import Address
from muster.engine.requests.accounts import Principal
from muster.lib.ids import new_id
from muster.ports.files import FileKind, WrongKind
from muster.server.compatibility.paddlecloud.answering import InWords, WithStatus, both, simple
from muster.server.compatibility.paddlecloud.multipart import boundary_of, parts_of
from muster.server.compatibility.paddlecloud.pfs import MAX_FILE_BYTES
from muster.server.compatibility.paddlecloud.pfs_listing import entries
from muster.server.compatibility.paddlecloud.pfs_paths import PfsPath, found, make_home, storage_caller
from muster.server.services import Services, services

router = APIRouter(route_class=InWords, include_in_schema=False)
bytes_router = APIRouter(route_class=WithStatus, include_in_schema=False)
FILE_PATHS = both("/api/v1/file")
Me = Annotated[Principal, Depends(storage_caller)]
Parts = Annotated[Services, Depends(services)]
_WRITE_BYTES = 1 << 20
_FIELD = "file"


async def get_file(me: Me, parts: Parts, path: str = "") -> Response:
    return await sent(parts, me.user, await found(parts, me, path))


async def put_file(request: Request, me: Me, parts: Parts, path: str = "") -> Response:
    """The file appears under its name once all of it is there, and replaces one that was there before."""
    if not path:
        raise Invalid("must specify path")
    pfs = await found(parts, me, path, changing=True)
    if not pfs.rest:
        raise Conflict(f"{path} is a folder")
    boundary = boundary_of(request.headers.get("content-type", ""))
    await make_home(parts, me, pfs)
    with parts.bounds.uploads.held(me.name):
        async for part in parts_of(boundary, request.stream()):
            if part.name == _FIELD:
                await _received(parts, me.user, pfs, part.content)
                return JSONResponse({"msg": ""})
            async for _ in part.content:
                pass
    raise Invalid(f"the body has no field {_FIELD!r}")


async def list_files(me: Me, parts: Parts, path: str = "", dc: str = "") -> Response:
    pfs = await found(parts, me, path)
    try:
        names = [entry.name async for entry in entries(parts, me, pfs)]
    except NotFound:
        if pfs.rest:
            return simple(404, "dir not exist", items=[])
        names = []  # a home to which nothing was written yet
    except WrongKind:
        return simple(404, "dir not exist", items=[])
    return JSONResponse({"msg": "", "items": names})


for _path in FILE_PATHS:
    router.add_api_route(_path, put_file, methods=["POST"], include_in_schema=False)
    bytes_router.add_api_route(_path, get_file, methods=["GET"], include_in_schema=False)
for _path in both("/api/v1/filelist"):
    router.add_api_route(_path, list_files, methods=["GET"], include_in_schema=False)


async def sent(parts: Services, user: User, pfs: PfsPath) -> Response:
    facts = await parts.files.stat(user, pfs.address)
    if facts.kind is not FileKind.FILE:
        raise WrongKind(f"{pfs.shown} is not a file")
    name = quote(posixpath.basename(pfs.shown))
    headers = {
        "Content-Length": str(facts.size),
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    content = parts.files.read(user, pfs.address, 0, facts.size, facts.version)
    return StreamingResponse(content, media_type="application/force-download", headers=headers)


async def _received(parts: Services, user: User, pfs: PfsPath, content: AsyncIterator[bytes]) -> None:
    folder = pfs.address.path.rpartition("/")[0]
    await parts.files.make_folder(user, Address(pfs.datacenter, folder), parents=True)
    beside = Address(pfs.datacenter, f"{folder}/.{new_id()}.part")
    await parts.files.resize(user, beside, 0)
    try:
        await _written(parts, user, beside, content)
        running = await parts.files.move(user, beside, pfs.address, None, overwrite=True)
        while not running.tally.done:
            running = await parts.files.move(user, beside, pfs.address, running.run, overwrite=True)
    except BaseException:
        await _dropped(parts, user, beside)
        raise


async def _written(parts: Services, user: User, where: Address, content: AsyncIterator[bytes]) -> None:
    offset, held = 0, bytearray()
    async for data in content:
        held += data
        if len(held) >= _WRITE_BYTES:
            offset = await _flushed(parts, user, where, offset, held)
    if held:
        await _flushed(parts, user, where, offset, held)


async def _flushed(parts: Services, user: User, where: Address, offset: int, held: bytearray) -> int:
    if offset + len(held) > MAX_FILE_BYTES:
        raise TooLarge(f"a file may have at most {MAX_FILE_BYTES} bytes")
    await parts.files.write_at(user, where, offset, bytes(held))
    end = offset + len(held)
    held.clear()
    return end


async def _dropped(parts: Services, user: User, where: Address) -> None:
    try:
        await parts.files.remove(user, where, None, recursive=False)
    except MusterError:
        return  # the node does not answer; the error that led here says so
