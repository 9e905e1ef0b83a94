"""Routes for clusters, nodes and what they use."""

from collections.abc import Iterator
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import TaskStateName
from muster.api.nodes import ClusterList, ClusterOut, IsolationOut, NodeDetailOut, NodeList, NodeOut, NodeTaskOut
from muster.api.usage import TaskUsageOut, UsageOut
from muster.domain.nodes import Node
from muster.engine.cluster_access import default_cluster, visible_clusters
from muster.engine.nodes.administration import find_node
from muster.engine.requests.accounts import Principal
from muster.engine.requests.storages import usable_storages
from muster.ports.capabilities import NodeUsage, TaskIsolation
from muster.server.access import Action, may, require
from muster.server.node_views import look, seen_node, seen_nodes
from muster.server.services import Services, authenticated, services
from muster.wire.cluster_views import access_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
OfCluster = Annotated[str | None, Query(description="Where several clusters have a node of that name.")]


@router.get("/clusters", response_model=response_model(ClusterList), summary="List clusters")
async def list_clusters(me: Me, parts: Parts) -> Response:
    """Lists those that the caller may use. Jobs that name none go to the default one."""
    require(me, Action.CLUSTER_SEE)
    items: list[ClusterOut] = []
    default = default_cluster(parts.context, me.user)
    for name in visible_clusters(parts.context, me.user):
        backend = parts.context.backends[name]
        nodes = backend.nodes()
        items.append(
            {
                "name": name,
                "backend": backend.settings.backend,
                "default": name == default,
                "nodes": len(nodes),
                "state": _state(parts, name),
                "capabilities": list(backend.capabilities.names()),
                "placement": "muster" if backend.capabilities.engine is None else "engine",
                "isolation": _isolation(backend.capabilities.isolation),
                "access": access_view(backend.settings.access) if me.is_admin else None,
                "storages": usable_storages(backend.settings, me.user),
                "notes": list(backend.capabilities.notes()),
            }
        )
    return JSONResponse(ClusterList(items=items))


def _state(parts: Services, name: str) -> str:
    if not parts.context.backends[name].settings.is_enabled:
        return "Draining"
    return "Ready" if any(node.is_usable for node in parts.context.schedulable_nodes(name)) else "Unreachable"


def _isolation(isolation: TaskIsolation | None) -> IsolationOut | None:
    if isolation is None:
        return None
    given = isolation.given()
    mode = None if given.mode is None else str(given.mode)
    return IsolationOut(mode=mode, why=given.why, trustUsers=given.trusts_users, gaps=list(given.gaps))


@router.get("/nodes", response_model=response_model(NodeList), summary="List nodes")
async def list_nodes(
    me: Me, parts: Parts, cluster: Annotated[str | None, Query(description="Only those of this one.")] = None
) -> Response:
    require(me, Action.CLUSTER_SEE)
    await look(parts, [name for name in visible_clusters(parts.context, me.user) if cluster in (None, name)])
    return JSONResponse(NodeList(items=[view for view in _nodes(me, parts) if cluster in (None, view["cluster"])]))


@router.get("/nodes/{name}", response_model=response_model(NodeDetailOut), summary="One node")
async def get_node(name: str, me: Me, parts: Parts, cluster: OfCluster = None) -> Response:
    """Answers the node with its running tasks; those of jobs that the caller may not see are counted, not named."""
    require(me, Action.CLUSTER_SEE)
    await look(parts, [find_node(parts.context, me.user, name, cluster).cluster])
    node = find_node(parts.context, me.user, name, cluster)
    detail: NodeDetailOut = {**seen_node(me, parts, node), "running": _running(me, parts, node)}
    return JSONResponse(detail)


@router.get("/usage", response_model=response_model(UsageOut), summary="What nodes and tasks use now")
async def get_usage(me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    tasks: list[TaskUsageOut] = []
    visible = visible_clusters(parts.context, me.user)
    await look(parts, parts.context.backends)
    for cluster in parts.context.backends:
        for node, usage in _heard(parts, cluster):
            for task_id, use in usage.tasks.items():
                entry = parts.context.open_jobs.get(task_id.split(".", 1)[0])
                task = entry.tasks.get(task_id) if entry else None
                if entry is None or task is None or (cluster not in visible and entry.job.owner != me.name):
                    continue
                if not may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs):
                    continue
                tasks.append(
                    {
                        "task": task.name,
                        "job": entry.job.name,
                        "owner": entry.job.owner,
                        "node": node,
                        "cpuPercent": use.cpu_percent,
                        "rssBytes": use.rss_bytes,
                        "processes": use.processes,
                    }
                )
    return JSONResponse(UsageOut(nodes=_nodes(me, parts), tasks=tasks))


def _nodes(me: Principal, parts: Services) -> list[NodeOut]:
    clusters = visible_clusters(parts.context, me.user)
    return seen_nodes(me, parts, [node for cluster in clusters for node in parts.context.nodes(cluster)])


def _heard(parts: Services, cluster: str) -> Iterator[tuple[str, NodeUsage]]:
    """Yields the usage of reachable nodes only: the last sample of another node does not say what its tasks use now."""
    known = parts.context.backends[cluster].capabilities.latest_usage()
    for node in parts.context.nodes(cluster):
        if node.is_reachable and node.name in known:
            yield node.name, known[node.name]


def _running(me: Principal, parts: Services, node: Node) -> list[NodeTaskOut]:
    found: list[NodeTaskOut] = []
    measured = parts.context.backends[node.cluster].capabilities.latest_usage() if node.is_reachable else {}
    used = measured[node.name].tasks if node.name in measured else {}
    for task in parts.context.open_jobs.tasks_on(node.cluster, node.name):
        entry = parts.context.open_jobs.get(task.job_id)
        if entry is not None and may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs):
            name, owner = entry.job.name, entry.job.owner
            state = cast("TaskStateName", task.state_name)
            use = used.get(task.id)
            found.append(
                {
                    "task": task.name,
                    "job": name,
                    "jobId": task.job_id,
                    "owner": owner,
                    "state": state,
                    "cpuPercent": use.cpu_percent if use else None,
                    "rssBytes": use.rss_bytes if use else None,
                    "processes": use.processes if use else None,
                }
            )
    return found
