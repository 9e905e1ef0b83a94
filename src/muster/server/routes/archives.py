"""Packages and inputs for the nodes of engines, which fetch them by signed addresses instead of a person's token."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import FileResponse, Response

from muster.server.services import Services, services

Parts = Annotated[Services, Depends(services)]
router = APIRouter(tags=["packages"])


@router.get(
    "/archives/{digest}",
    summary="Fetch an archive by a signed address",
    responses={200: {"content": {"application/gzip": {}}}},
    response_class=Response,
)
async def get_archive(
    digest: str,
    parts: Parts,
    expires: Annotated[int, Query(ge=0, description="When the address expires, in seconds since the epoch.")],
    signature: Annotated[str, Query(max_length=128, description="The server's own signature.")],
) -> Response:
    """Engines give such addresses to their nodes. Each opens one archive for a limited time and needs no token."""
    return FileResponse(parts.archives.opened(digest, expires, signature), media_type="application/gzip")
