"""Files of paddlecloud's storage piece by piece: the MD5 of a piece, and its bytes. A client that compares first sends
and fetches only what differs, and so goes on after a break."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse

from muster.domain.errors import Invalid, TooLarge
from muster.engine.requests.accounts import Principal
from muster.ports.files import FileFacts, FileKind, WrongKind
from muster.server.compatibility.paddlecloud.answering import WithStatus, both
from muster.server.compatibility.paddlecloud.multipart import boundary_of, parts_of
from muster.server.compatibility.paddlecloud.pfs import MAX_FILE_BYTES, PREFIXES, PfsRoute, answered
from muster.server.compatibility.paddlecloud.pfs_paths import PfsPath, found, storage_caller
from muster.server.services import Services, services

MIN_CHUNK, MAX_CHUNK = 4 << 10, 32 << 20
STORAGE_PATHS = tuple(path for prefix in PREFIXES for path in both(f"{prefix}/storage/chunks"))
_BOUNDARY = "8d7b0e5709d756e21e971ff4d9ac3b20"
"""Clients do not read it from the header: they know it."""
_BAD_CHUNK = "chunksize error"
_PART = "chunk"

router = APIRouter(route_class=PfsRoute, include_in_schema=False)
bytes_router = APIRouter(route_class=WithStatus, include_in_schema=False)
Me = Annotated[Principal, Depends(storage_caller)]
Parts = Annotated[Services, Depends(services)]


@dataclass(frozen=True, slots=True)
class Chunk:
    path: str
    offset: int
    size: int


async def chunk_meta(request: Request, me: Me, parts: Parts, method: str = "") -> Response:
    if method != "GetChunkMeta":
        return answered(None, status=405)
    chunk = _chunk(request.url.query)
    if chunk.size < MIN_CHUNK:
        raise Invalid(_BAD_CHUNK)
    pfs, facts = await _file(parts, me, chunk)
    digest, size = hashlib.md5(usedforsecurity=False), 0
    async for data in _read(parts, me, pfs, facts, chunk):
        digest.update(data)
        size += len(data)
    return answered({"offset": chunk.offset, "checksum": digest.hexdigest(), "len": size})


async def chunk_content(request: Request, me: Me, parts: Parts) -> Response:
    chunk = _chunk(request.url.query)
    pfs, facts = await _file(parts, me, chunk)
    size = max(0, min(chunk.size, facts.size - chunk.offset))
    named = urlencode({"chunksize": size, "offset": chunk.offset, "path": chunk.path})
    head = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{_PART}"; filename="{named}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    tail = f"\r\n--{_BOUNDARY}--\r\n".encode()

    async def content() -> AsyncIterator[bytes]:
        yield head
        async for data in _read(parts, me, pfs, facts, chunk):
            yield data
        yield tail

    headers = {"Content-Length": str(len(head) + size + len(tail))}
    return StreamingResponse(content(), media_type=f"multipart/form-data; boundary={_BOUNDARY}", headers=headers)


async def put_chunk(request: Request, me: Me, parts: Parts) -> Response:
    boundary = boundary_of(request.headers.get("content-type", ""))
    with parts.bounds.uploads.held(me.name):
        async for part in parts_of(boundary, request.stream()):
            if part.name != _PART:
                async for _ in part.content:
                    pass
                continue
            chunk = _chunk(part.filename)
            pfs = await found(parts, me, chunk.path, changing=True)
            data = await _bounded(part.content, chunk.size)
            await parts.files.write_at(me.user, pfs.address, chunk.offset, data)
    return answered(None)


for _prefix in PREFIXES:
    for _path in both(f"{_prefix}/chunks"):
        router.add_api_route(_path, chunk_meta, methods=["GET"], include_in_schema=False)
for _path in STORAGE_PATHS:
    router.add_api_route(_path, put_chunk, methods=["POST"], include_in_schema=False)
    bytes_router.add_api_route(_path, chunk_content, methods=["GET"], include_in_schema=False)


def _chunk(query: str) -> Chunk:
    values = parse_qs(query, max_num_fields=16)
    try:
        (path, *_), (offset, *_), (size, *_) = (values[name] for name in ("path", "offset", "chunksize"))
        chunk = Chunk(path, int(offset), int(size))
    except (KeyError, ValueError):
        raise Invalid("parse json error", hint="a chunk has a path, an offset and a chunksize") from None
    if not 0 <= chunk.size <= MAX_CHUNK or not 0 <= chunk.offset <= MAX_FILE_BYTES - chunk.size:
        raise Invalid(_BAD_CHUNK)
    return chunk


async def _file(parts: Services, me: Principal, chunk: Chunk) -> tuple[PfsPath, FileFacts]:
    pfs = await found(parts, me, chunk.path)
    facts = await parts.files.stat(me.user, pfs.address)
    if facts.kind is not FileKind.FILE:
        raise WrongKind("should be a file not a directory")
    return pfs, facts


def _read(parts: Services, me: Principal, pfs: PfsPath, facts: FileFacts, chunk: Chunk) -> AsyncIterator[bytes]:
    end = min(chunk.offset + chunk.size, facts.size)
    return parts.files.read(me.user, pfs.address, min(chunk.offset, end), end, facts.version)


async def _bounded(content: AsyncIterator[bytes], size: int) -> bytes:
    received = bytearray()
    async for data in content:
        received += data
        if len(received) > size:
            raise TooLarge(_BAD_CHUNK)
    if len(received) != size:
        raise Invalid(_BAD_CHUNK)
    return bytes(received)
