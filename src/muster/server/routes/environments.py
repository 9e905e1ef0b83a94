"""Routes for the environments that jobs may name: list them, and test whether they work."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.environments import EnvironmentList, EnvironmentPackagesList, EnvironmentTestList
from muster.engine.nodes.environments import inventories, offered, tested
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire import requests
from muster.wire.environment_views import environment_view, inventory_view, trial_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Named = Annotated[str | None, Query(max_length=253)]


@router.get("/environments", response_model=response_model(EnvironmentList), summary="List environments")
async def list_environments(me: Me, parts: Parts, cluster: Named = None, node: Named = None) -> Response:
    """Lists what clusters offer as `runtime`, with the installed versions. Nodes are asked each time."""
    require(me, Action.CLUSTER_SEE)
    offer = await offered(parts.context, me.user, cluster, node)
    items = [environment_view(item.cluster, item.environment, item.nodes) for item in offer.items]
    return JSONResponse(EnvironmentList(items=items, problems=list(offer.problems)))


@router.get(
    "/environments:packages",
    response_model=response_model(EnvironmentPackagesList),
    summary="List what is installed in an environment",
)
async def list_packages(
    me: Me,
    parts: Parts,
    name: Annotated[str, Query(min_length=1, max_length=4096)],
    cluster: Named = None,
    node: Named = None,
) -> Response:
    """Asks the Python of the environment on each node that offers it. This takes up to a minute."""
    require(me, Action.CLUSTER_SEE)
    found = await inventories(parts.context, me.user, name, cluster, node)
    return JSONResponse(EnvironmentPackagesList(items=[inventory_view(one) for one in found]))


@router.post("/environments:test", response_model=response_model(EnvironmentTestList), summary="Test an environment")
async def test_environment(body: requests.EnvironmentTestIn, me: Me, parts: Parts) -> Response:
    """Imports its frameworks on each node and asks which GPUs they see. This takes up to a minute."""
    require(me, Action.CLUSTER_SEE)
    trials = await tested(parts.context, me.user, body.name, body.cluster, body.node)
    return JSONResponse(EnvironmentTestList(items=[trial_view(trial) for trial in trials]))
