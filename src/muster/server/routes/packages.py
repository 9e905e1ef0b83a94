"""Routes for code packages: their status, upload in pieces, and download."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from muster.api.artifacts import PackageOut
from muster.domain.errors import TooLarge
from muster.engine.data.packages import Upload
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire.response_models import response_model

router = APIRouter(tags=["packages"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
MAX_PIECE_BYTES = 8 << 20
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/gzip": _BINARY}, "description": "A tar archive, compressed."}
}
_BODY = {"requestBody": {"content": {"application/octet-stream": _BINARY}}}


@router.get("/packages/{digest}", response_model=response_model(PackageOut), summary="How much of it is here")
async def package_status(digest: str, me: Me, parts: Parts) -> Response:
    return JSONResponse(_view(await parts.packages.status(digest, me.name)))


@router.put(
    "/packages/{digest}", response_model=response_model(PackageOut), summary="Upload a piece", openapi_extra=_BODY
)
async def upload_piece(
    request: Request,
    digest: str,
    me: Me,
    parts: Parts,
    size: Annotated[int, Query(ge=1, le=2**50, description="Bytes in all.")],
    offset: Annotated[int, Query(ge=0, le=2**50)] = 0,
) -> Response:
    """Pieces of at most 8 MiB, in order. After a break, ask how much is here and go on from there. A wrong offset is
    answered 409 with the right one in `received`."""
    require(me, Action.PACKAGE_UPLOAD)
    with parts.bounds.uploads.held(me.name):
        data = await request.body()
        if len(data) > MAX_PIECE_BYTES:
            raise TooLarge(f"a piece may have at most {MAX_PIECE_BYTES} bytes")
        upload = await parts.packages.receive(digest, me.name, offset=offset, size=size, data=data)
    return JSONResponse(_view(upload))


@router.get("/packages/{digest}/content", response_class=FileResponse, responses=_ARCHIVE, summary="The archive")
async def package_content(digest: str, me: Me, parts: Parts) -> Response:
    path = await parts.packages.path(digest, None if me.is_admin else me.name)
    return FileResponse(path, media_type="application/gzip", filename=f"{digest}.tar.gz")


def _view(upload: Upload) -> PackageOut:
    return {
        "digest": upload.digest,
        "size": upload.size,
        "received": upload.received,
        "complete": upload.complete,
    }
