"""The web portal: its files as `scripts/build_portal.py` has built them."""

from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse

from muster.domain.errors import NotFound
from muster.server.page_headers import page_headers

router = APIRouter(include_in_schema=False)
PORTAL = Path(__file__).parent.parent / "portal"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"
_NOT_BUILT = "The web portal is not part of this installation. In a checkout, `make setup` builds it.\n"


@dataclass(frozen=True, slots=True)
class _PortalFile:
    path: Path
    is_for_ever: bool
    """Its name contains the digest of its content."""


def _portal_files() -> dict[str, _PortalFile]:
    """The files by address below /portal/. What is not in this table does not exist, whatever an address looks like."""
    found = (path for path in PORTAL.rglob("*") if path.suffix in _TYPES) if PORTAL.is_dir() else ()
    names = ((path.relative_to(PORTAL).as_posix(), path) for path in found)
    return {name: _PortalFile(path, name.startswith("assets/")) for name, path in names}


_FILES = _portal_files()


@router.api_route("/", methods=["GET", "HEAD"])
async def portal(request: Request) -> Response:
    if "index.html" not in _FILES:
        return PlainTextResponse(_NOT_BUILT, 404, headers=page_headers())
    return _answer(request, _FILES["index.html"])


@router.api_route("/portal/{name:path}", methods=["GET", "HEAD"])
async def portal_file(name: str, request: Request) -> Response:
    if name not in _FILES:
        raise NotFound(f"the portal has no file {name!r}")
    return _answer(request, _FILES[name])


def _answer(request: Request, file: _PortalFile) -> Response:
    headers = page_headers() | {"Vary": "Accept-Encoding"}
    if file.is_for_ever:
        headers["Cache-Control"] = _FOR_EVER
    media_type = _TYPES[file.path.suffix]
    packed = file.path.with_name(file.path.name + ".gz")
    if "gzip" in request.headers.get("accept-encoding", "") and packed.is_file():
        return FileResponse(packed, media_type=media_type, headers=headers | {"Content-Encoding": "gzip"})
    return FileResponse(file.path, media_type=media_type, headers=headers)
