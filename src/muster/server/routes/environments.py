"""Environments that jobs may name: what there is, and whether it works."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.engine.nodes.environments import Offered, offered, tested
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire import environment_shapes as shapes
from muster.wire.views import View

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Named = Annotated[str | None, Query(max_length=253)]


@router.get("/environments", response_model=shapes.EnvironmentList, summary="List environments")
async def list_environments(me: Me, parts: Parts, cluster: Named = None, node: Named = None) -> Response:
    """What clusters offer as `runtime`, with versions as they are installed. Nodes are asked anew each time."""
    require(me, Action.CLUSTER_SEE)
    offer = await offered(parts.context, me.user, cluster, node)
    return JSONResponse({"items": [_view(item) for item in offer.items], "problems": list(offer.problems)})


@router.post("/environments:test", response_model=shapes.EnvironmentTestList, summary="Test an environment")
async def test_environment(body: shapes.EnvironmentTestIn, me: Me, parts: Parts) -> Response:
    """Import its frameworks on each node and ask what cards they see. Takes up to a minute."""
    require(me, Action.CLUSTER_SEE)
    trials = await tested(parts.context, me.user, body.name, body.cluster, body.node)
    return JSONResponse({"items": [shapes.trial_view(trial) for trial in trials]})


def _view(item: Offered) -> View:
    environment = item.environment
    return {
        "cluster": item.cluster,
        "kind": str(environment.kind),
        "name": environment.name,
        "path": environment.path,
        "python": environment.python,
        "frameworks": dict(environment.frameworks),
        "nodes": list(item.nodes),
    }
