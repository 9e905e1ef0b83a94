"""Routes for health, metrics, the spec's JSON Schema and the page."""

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse

from muster.domain.access import is_open
from muster.domain.errors import NotFound
from muster.engine.cluster_access import visible_clusters
from muster.engine.requests.accounts import Principal
from muster.server.metrics import Metrics
from muster.server.page_headers import page_headers
from muster.server.services import Services, authenticated, services
from muster.wire.spec_schema import spec_json_schema

api_router = APIRouter(tags=["system"])
router = APIRouter(include_in_schema=False)
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_PAGE = Path(__file__).parent.parent / "page"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


@api_router.get("/schema", summary="JSON Schema of the job spec")
async def get_schema(me: Me) -> dict[str, Any]:
    return spec_json_schema()


@router.get("/healthz")
async def healthy() -> Response:
    """Answers as long as the process runs."""
    return PlainTextResponse("ok\n")


@router.get("/readyz")
async def ready(parts: Parts) -> Response:
    """Answers 200 if the database takes writes and at least one node is ready. It names clusters that are for
    everybody."""
    await parts.context.store.ping()
    backends = parts.context.backends
    clusters = {name: sum(node.is_usable for node in backend.nodes()) for name, backend in backends.items()}
    is_ready = any(clusters.values())
    open_ones = {name: count for name, count in clusters.items() if is_open(backends[name].settings.access)}
    held = {"held": "the database was restored: see `muster server release`"} if parts.context.is_held else {}
    return JSONResponse({"ready": is_ready, "readyNodes": open_ones, **held}, 200 if is_ready else 503)


@router.get("/metrics")
async def metrics(request: Request, parts: Parts) -> Response:
    """For callers with a token, unless an admin opened it to everybody. The metrics name neither people nor jobs,
    and only clusters that the caller may use."""
    clusters = list(parts.context.backends)
    if not parts.has_open_metrics:
        clusters = visible_clusters(parts.context, (await authenticated(request)).user)
    found: Metrics = request.app.state.metrics
    return Response(await found.render(parts.context, clusters), media_type="text/plain; version=0.0.4")


@router.get("/")
async def page() -> Response:
    return _file("index.html")


@router.get("/page/{name}")
async def page_file(name: str) -> Response:
    if name not in {path.name for path in _PAGE.iterdir() if path.suffix in _TYPES}:
        raise NotFound(f"the page has no file {name!r}")
    return _file(name)


def _file(name: str) -> Response:
    path = _PAGE / name
    return FileResponse(path, media_type=_TYPES[path.suffix], headers=page_headers())
