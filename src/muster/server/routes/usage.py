"""The route for the usage of a node over the last few minutes, for charts."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.usage import UsageHistory
from muster.engine.nodes.administration import find_node
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso
from muster.ports.capabilities import required
from muster.server.access import Action, require
from muster.server.routes.nodes import OfCluster
from muster.server.services import Services, authenticated, services
from muster.server.timestamps import instant
from muster.wire.response_models import response_model
from muster.wire.usage_views import sample_view

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_ROUNDING_S = 0.0004
"""Times are answered to the millisecond and compared in that form, so that no sample is repeated or left out."""


@router.get("/nodes/{name}/usage", response_model=response_model(UsageHistory), summary="How busy a node was of late")
async def get_node_usage(
    name: str,
    me: Me,
    parts: Parts,
    cluster: OfCluster = None,
    since: Annotated[
        str | None, Query(description="ISO time, or an age such as 1m: only what came after it, so that `at` goes on.")
    ] = None,
) -> Response:
    require(me, Action.CLUSTER_SEE)
    node = find_node(parts.context, me.user, name, cluster)
    after = instant("since", since, parts.context.clock()) or 0.0
    since_shown = iso(after + _ROUNDING_S)
    usage = required(parts.context.backends[node.cluster].capabilities.usage, "usage", node.cluster)
    samples = [sample_view(sample) for sample in usage.history(name, after)]
    return JSONResponse(UsageHistory(node=name, items=[item for item in samples if item["at"] > since_shown]))
