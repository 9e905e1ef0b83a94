"""What a node looks like to the person who asks."""

import asyncio
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from muster.api.nodes import NodeOut
from muster.domain.nodes import EngineUse, Node, NodeState
from muster.domain.resources import WHOLE_GPU
from muster.domain.tasks import Task
from muster.engine.cluster_access import visible_clusters
from muster.engine.nodes.hidden_folders import usable_folders, without_hidden_folders
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may
from muster.server.engine_nodes import allocated
from muster.server.services import Services
from muster.wire.usage_views import node_usage_view
from muster.wire.views import node_view

Key = tuple[str, str]
"""A cluster and a node."""
_HIDDEN = "(private)"
"""It is shown in place of the name of a job that holds a GPU and that the reader may not see."""
_OTHERS = "(others)"
"""It is shown in place of the name of a job that was not made with Muster."""
_ADMINS_KNOW = "it cannot be reached; admins see why"
"""It is shown in place of a reason that reveals how the server logs in."""


async def look(parts: Services, clusters: Iterable[str]) -> None:
    """Some clusters measure, or describe their nodes, only while somebody looks."""
    offered = [parts.context.backends[name].capabilities for name in clusters]
    asked = [source for one in offered for source in (one.usage, one.engine) if source is not None]
    await asyncio.gather(*(source.look() for source in asked))


def node_rights(me: Principal, parts: Services) -> Hashable:
    """Return what decides on the view: users with equal rights see the same nodes, and see them alike."""
    clusters = visible_clusters(parts.context, me.user)
    folders = tuple(frozenset(usable_folders(parts.context.backends[name].settings, me.user)) for name in clusters)
    return me.is_admin, me.user.is_admin, tuple(clusters), folders, me.name if parts.private_jobs else ""


def seen_node(me: Principal, parts: Services, node: Node) -> NodeOut:
    return _seen(me, parts, node, parts.context.open_jobs.tasks_on(node.cluster, node.name), _logins(parts, [node]))


def seen_nodes(me: Principal, parts: Services, nodes: Sequence[Node]) -> list[NodeOut]:
    """Looks through the open jobs once for all nodes together, as there may be very many of both."""
    tasks, logins = parts.context.open_jobs.tasks_by_node(), _logins(parts, nodes)
    return [_seen(me, parts, node, tasks.get((node.cluster, node.name), []), logins) for node in nodes]


def _seen(me: Principal, parts: Services, node: Node, tasks: Sequence[Task], logins: Mapping[Key, str]) -> NodeOut:
    context = parts.context
    cluster = context.clusters[node.cluster]
    cpu_m, memory_bytes, devices = cluster.used(node.name)
    names: dict[int, str | None] = {
        index: ", ".join(sorted({_job_name(me, parts, job) for job in jobs})) for index, jobs in devices.items()
    }
    owners = {index: _owners(me, parts, jobs) for index, jobs in devices.items()}
    shares = cluster.device_shares(node.name)
    if node.use is not None:
        cpu_m, memory_bytes = allocated(context, node, node.use, tasks)
        names = dict.fromkeys(node.use.gpus, _holder(me, parts, node.use, tasks))
        owners = {}
        shares = dict.fromkeys(node.use.gpus, WHOLE_GPU)
    usage = context.backends[node.cluster].capabilities.latest_usage().get(node.name)
    is_admin = may(me, Action.NODE_MANAGE, None, private=parts.private_jobs)
    node = without_hidden_folders(node, context.backends[node.cluster].settings, me.user)
    return node_view(
        node if is_admin or not _tells_of_login(parts, node) else replace(node, note=_ADMINS_KNOW),
        cpu_m=cpu_m,
        memory_bytes=memory_bytes,
        device_jobs=names,
        device_owners=owners,
        device_shares=shares,
        extended_jobs={key: _job_name(me, parts, job) for key, job in cluster.extended_used(node.name).items()},
        tasks=len(tasks),
        login=logins.get((node.cluster, node.name)) if is_admin else None,
        usage=node_usage_view(usage) if usage else None,
    )


def _tells_of_login(parts: Services, node: Node) -> bool:
    """Whether the note may reveal how the server logs in. Nodes of an engine are described by the engine."""
    return node.state is NodeState.UNREACHABLE and parts.context.engine(node.cluster) is None


def _holder(me: Principal, parts: Services, use: EngineUse, tasks: Sequence[Task]) -> str | None:
    """Who holds the GPUs in use on a node of an engine, which does not say it of each: None unless all have one job."""
    if use.others.gpus:
        return _OTHERS if use.others.gpus >= len(use.gpus) else None
    jobs = {task.job_id for task in tasks}
    return _job_name(me, parts, jobs.pop()) if len(jobs) == 1 else None


def _job_name(me: Principal, parts: Services, job_id: str) -> str:
    entry = parts.context.open_jobs.get(job_id)
    is_seen = entry is not None and may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs)
    return entry.job.name if entry is not None and is_seen else _HIDDEN


def _owners(me: Principal, parts: Services, jobs: Iterable[str]) -> str | None:
    """The owners of these jobs, as far as the reader may see them."""
    entries = [entry for entry in map(parts.context.open_jobs.get, jobs) if entry is not None]
    owners = {
        entry.job.owner for entry in entries if may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs)
    }
    return ", ".join(sorted(owners)) or None


def _logins(parts: Services, nodes: Sequence[Node]) -> dict[Key, str]:
    """How the server logs in to those nodes that are listed, without keys and passwords."""
    clusters = {node.cluster for node in nodes}
    return {
        (cluster, known.name): known.shown_login
        for cluster in clusters
        for known in parts.context.backends[cluster].settings.nodes
    }
