"""Routes by which admins add nodes to a cluster and remove them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.nodes import NodeAddedOut
from muster.engine.nodes import node_files
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire.node_entries import NodeAddIn, node_request
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.post(
    "/clusters/{cluster}/nodes", status_code=201, response_model=response_model(NodeAddedOut), summary="Add a node"
)
async def add_node(cluster: str, body: NodeAddIn, me: Me, parts: Parts) -> Response:
    """The node is written to the cluster's files; the cluster is created if it does not exist. `GET /nodes/{name}` then
    shows how the node joins."""
    require(me, Action.NODE_MANAGE)
    node = await node_files.add(parts.context, cluster, node_request(body), body.password, actor=me.name)
    return JSONResponse(NodeAddedOut(name=node.name, cluster=cluster, host=node.host), 201)


@router.delete("/nodes/{name}", status_code=204, summary="Remove a node that was added")
async def remove_node(
    name: str,
    me: Me,
    parts: Parts,
    cluster: Annotated[str | None, Query(description="Where several clusters have a node of that name.")] = None,
) -> None:
    """The node takes no new task, and is gone when its running tasks have ended. A node of a file that an admin wrote
    is removed in that file."""
    require(me, Action.NODE_MANAGE)
    await node_files.remove(parts.context, name, cluster, actor=me.name)
