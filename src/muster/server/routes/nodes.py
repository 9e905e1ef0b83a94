"""Routes for clusters, nodes and what they use."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import TaskStateName
from muster.api.nodes import ClusterList, ClusterOut, IsolationOut, NodeDetailOut, NodeList, NodeOut, NodeTaskOut
from muster.api.usage import TaskUsageOut, UsageOut
from muster.domain.nodes import EngineUse, Node, NodeState
from muster.domain.resources import WHOLE_GPU
from muster.engine.cluster_access import default_cluster, visible_clusters
from muster.engine.nodes.administration import find_node
from muster.engine.nodes.hidden_folders import without_hidden_folders
from muster.engine.requests.accounts import Principal
from muster.engine.requests.storages import usable_storages
from muster.ports.capabilities import NodeUsage, TaskIsolation
from muster.server.access import Action, may, require
from muster.server.engine_nodes import allocated
from muster.server.services import Services, authenticated, services
from muster.wire.cluster_views import access_view
from muster.wire.response_models import response_model
from muster.wire.usage_views import node_usage_view
from muster.wire.views import node_view

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
OfCluster = Annotated[str | None, Query(description="Where several clusters have a node of that name.")]
_HIDDEN = "(private)"
"""Shown in place of the name of a job that holds a GPU and that the reader may not see."""
_OTHERS = "(others)"
"""Shown in place of the name of a job that was not made with Muster."""
_ADMINS_KNOW = "it cannot be reached; admins see why"
"""Shown in place of a reason that reveals how the server logs in."""


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
    await _look(parts, [name for name in visible_clusters(parts.context, me.user) if cluster in (None, name)])
    return JSONResponse(NodeList(items=[view for view in _nodes(me, parts) if cluster in (None, view["cluster"])]))


@router.get("/nodes/{name}", response_model=response_model(NodeDetailOut), summary="One node")
async def get_node(name: str, me: Me, parts: Parts, cluster: OfCluster = None) -> Response:
    """Answers the node with its running tasks; those of jobs that the caller may not see are counted, not named."""
    require(me, Action.CLUSTER_SEE)
    await _look(parts, [find_node(parts.context, me.user, name, cluster).cluster])
    node = find_node(parts.context, me.user, name, cluster)
    detail: NodeDetailOut = {**seen_node(me, parts, node), "running": _running(me, parts, node)}
    return JSONResponse(detail)


@router.get("/usage", response_model=response_model(UsageOut), summary="What nodes and tasks use now")
async def get_usage(me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    tasks: list[TaskUsageOut] = []
    visible = visible_clusters(parts.context, me.user)
    await _look(parts, parts.context.backends)
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


async def _look(parts: Services, clusters: Iterable[str]) -> None:
    """Some clusters measure, or describe their nodes, only while somebody looks."""
    offered = [parts.context.backends[name].capabilities for name in clusters]
    asked = [source for one in offered for source in (one.usage, one.engine) if source is not None]
    await asyncio.gather(*(source.look() for source in asked))


def _nodes(me: Principal, parts: Services) -> list[NodeOut]:
    clusters = visible_clusters(parts.context, me.user)
    return [seen_node(me, parts, node) for cluster in clusters for node in parts.context.nodes(cluster)]


def seen_node(me: Principal, parts: Services, node: Node) -> NodeOut:
    context = parts.context
    cluster = context.clusters[node.cluster]
    cpu_m, memory_bytes, devices = cluster.used(node.name)
    names: dict[int, str | None] = {
        index: ", ".join(sorted({_job_name(me, parts, job) for job in jobs})) for index, jobs in devices.items()
    }
    shares = cluster.device_shares(node.name)
    if node.use is not None:
        cpu_m, memory_bytes = allocated(context, node, node.use)
        names = dict.fromkeys(node.use.gpus, _holder(me, parts, node, node.use))
        shares = dict.fromkeys(node.use.gpus, WHOLE_GPU)
    usage = context.backends[node.cluster].capabilities.latest_usage().get(node.name)
    is_admin = may(me, Action.NODE_MANAGE, None, private=parts.private_jobs)
    node = without_hidden_folders(node, context.backends[node.cluster].settings, me.user)
    return node_view(
        node if is_admin or not _tells_of_login(parts, node) else replace(node, note=_ADMINS_KNOW),
        cpu_m=cpu_m,
        memory_bytes=memory_bytes,
        device_jobs=names,
        device_shares=shares,
        extended_jobs={key: _job_name(me, parts, job) for key, job in cluster.extended_used(node.name).items()},
        tasks=len(context.open_jobs.tasks_on(node.cluster, node.name)),
        login=_login(parts, node) if is_admin else None,
        usage=node_usage_view(usage) if usage else None,
    )


def _tells_of_login(parts: Services, node: Node) -> bool:
    """Whether the note may reveal how the server logs in. Nodes of an engine are described by the engine."""
    return node.state is NodeState.UNREACHABLE and parts.context.engine(node.cluster) is None


def _holder(me: Principal, parts: Services, node: Node, use: EngineUse) -> str | None:
    """Who holds the GPUs in use on a node of an engine, which does not say it of each: None unless all have one job."""
    if use.others.gpus:
        return _OTHERS if use.others.gpus >= len(use.gpus) else None
    jobs = {task.job_id for task in parts.context.open_jobs.tasks_on(node.cluster, node.name)}
    return _job_name(me, parts, jobs.pop()) if len(jobs) == 1 else None


def _heard(parts: Services, cluster: str) -> Iterator[tuple[str, NodeUsage]]:
    """Yields the usage of reachable nodes only: the last sample of another node does not say what its tasks use now."""
    known = parts.context.backends[cluster].capabilities.latest_usage()
    for node in parts.context.nodes(cluster):
        if node.is_reachable and node.name in known:
            yield node.name, known[node.name]


def _job_name(me: Principal, parts: Services, job_id: str) -> str:
    entry = parts.context.open_jobs.get(job_id)
    is_seen = entry is not None and may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs)
    return entry.job.name if entry is not None and is_seen else _HIDDEN


def _running(me: Principal, parts: Services, node: Node) -> list[NodeTaskOut]:
    found: list[NodeTaskOut] = []
    for task in parts.context.open_jobs.tasks_on(node.cluster, node.name):
        entry = parts.context.open_jobs.get(task.job_id)
        if entry is not None and may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs):
            name, owner = entry.job.name, entry.job.owner
            state = cast("TaskStateName", task.state_name)
            found.append({"task": task.name, "job": name, "owner": owner, "state": state})
    return found


def _login(parts: Services, node: Node) -> str | None:
    """Says how the server logs in, without keys and passwords."""
    listed = parts.context.backends[node.cluster].settings.nodes
    return next((known.shown_login for known in listed if known.name == node.name), None)
