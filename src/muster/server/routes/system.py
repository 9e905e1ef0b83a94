"""Routes for health, metrics and the spec's JSON Schema."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from muster.domain.access import is_open
from muster.engine.requests.accounts import Principal
from muster.server.metric_readers import anybody, reader_of
from muster.server.metrics import Metrics
from muster.server.services import Services, authenticated, services
from muster.wire.spec_schema import spec_json_schema

api_router = APIRouter(tags=["system"])
router = APIRouter(include_in_schema=False)
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


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
    """For callers with a token, unless an admin opened it to everybody: then it names neither people nor jobs."""
    context, found = parts.context, request.app.state.metrics
    assert isinstance(found, Metrics)
    reader = anybody(context) if parts.has_open_metrics else reader_of(context, await authenticated(request))
    return Response(await found.render(context, parts.alerting, reader), media_type="text/plain; version=0.0.4")
