"""The commands of admins for nodes: cordon, uncordon, drain, reconnect, and running a command.

Cordons and drains are durable: they survive restarts of the server and the node until they are removed.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from muster.domain.accounts import User
from muster.domain.errors import Conflict, MusterError, NotFound, StaleWrite, Unavailable
from muster.domain.events import Event
from muster.domain.jobs import Outcome, Queued, Running, Starting, Verdict
from muster.domain.nodes import Mark, Node, NodeMark, NodeState
from muster.engine.cluster_access import visible_clusters
from muster.engine.context import Context
from muster.engine.lifecycle.completion import RETRY_S, stop
from muster.engine.lifecycle.dependencies import queue
from muster.engine.lifecycle.node_holds import release
from muster.engine.state.event_builders import audit_event
from muster.engine.state.open_jobs import Entry
from muster.ports.capabilities import CommandEnd, CommandOutput, NodeAdministration, required
from muster.ports.store import Change

_log = structlog.get_logger("engine.administration")


def find_node(context: Context, user: User, name: str, cluster: str | None = None) -> Node:
    """Find a node by its name, and by its cluster if two clusters have a node of that name. Only nodes of clusters are
    found that the user may use."""
    named = [one for each in visible_clusters(context, user) for one in context.nodes(each) if one.name == name]
    found = [node for node in named if cluster in (None, node.cluster)]
    if not found:
        where = f" in cluster {cluster}" if cluster else ""
        raise NotFound(f"there is no node {name!r}{where}", hint="see `muster get nodes`")
    if len(found) > 1:
        clusters = " and ".join(node.cluster for node in found)
        raise Conflict(
            f"clusters {clusters} have a node {name!r}",
            hint=f"say which: {found[0].cluster}/{name} on the command line, ?cluster={found[0].cluster} in the API",
        )
    return found[0]


async def cordon(context: Context, cluster: str, node: str, reason: str, actor: str) -> None:
    """Place no new tasks on the node. Tasks that run there continue."""
    _administration(context, cluster)
    mark = NodeMark(cluster, node, Mark.CORDONED, reason, actor, context.clock())
    await _mark(context, mark, audit_event("node.cordon", actor, mark.at, name=node, cluster=cluster, reason=reason))


async def uncordon(context: Context, cluster: str, node: str, actor: str) -> None:
    """Remove the cordon or drain of the node, and the hold that the server itself put on it."""
    event = audit_event("node.uncordon", actor, context.clock(), name=node, cluster=cluster)
    await context.apply(Change(unmarked_node=(cluster, node), events=[event]))
    context.marks.pop((cluster, node), None)
    release(context, cluster, node)
    update_scheduler(context, cluster)


async def drain(context: Context, cluster: str, node: str, reason: str, actor: str, *, now: bool = False) -> None:
    """Place no new tasks on the node. Tasks that run there continue to their end, or with `now` their jobs go back to
    the queue."""
    _administration(context, cluster)
    mark = NodeMark(cluster, node, Mark.DRAINING, reason, actor, context.clock())
    event = audit_event("node.drain", actor, mark.at, name=node, cluster=cluster, reason=reason, requeued=now)
    await _mark(context, mark, event)
    if now:
        _evict_all(context, cluster, node)


async def reconnect(context: Context, cluster: str, node: str, actor: str, *, forget_host_key: bool = False) -> None:
    administration = _administration(context, cluster)
    facts: dict[str, Any] = {"forgetHostKey": True} if forget_host_key else {}
    event = audit_event("node.reconnect", actor, context.clock(), name=node, cluster=cluster, **facts)
    await context.apply(Change(events=[event]))
    if forget_host_key:
        administration.forget_host_key(node)
    administration.reconnect(node)


async def execute(
    context: Context, cluster: str, node: str, argv: Sequence[str], timeout_s: float, actor: str
) -> AsyncGenerator[CommandOutput | CommandEnd]:
    """Run a command that is not a job. It starts when its output is read, after the audit event is written."""
    administration = _administration(context, cluster)
    event = audit_event("node.exec", actor, context.clock(), name=node, cluster=cluster, command=list(argv))
    await context.apply(Change(events=[event]))
    return administration.execute(node, argv, timeout_s)


def update_scheduler(context: Context, cluster: str) -> None:
    """Pass the nodes of a cluster, as they are now, to its scheduler."""
    state = context.clusters[cluster]
    nodes = context.schedulable_nodes(cluster)
    for node in nodes:
        state.node_changed(node.in_service())
    listed = {node.name for node in nodes}
    for node in state.nodes():
        if node.name in listed:
            continue
        if state.jobs_on(node.name):  # they keep their slots until they end
            state.node_changed(replace(node, state=NodeState.RETIRED))
        else:
            state.node_removed(node.name)
    context.config.nodes_changed(state, context.nodes(cluster))
    context.wake.set()


def _administration(context: Context, cluster: str) -> NodeAdministration:
    return required(context.backends[cluster].capabilities.node_administration, "node-administration", cluster)


async def _mark(context: Context, mark: NodeMark, event: Event) -> None:
    await context.apply(Change(node_mark=mark, events=[event]))
    context.marks[mark.cluster, mark.node] = mark
    update_scheduler(context, mark.cluster)


def _evict_all(context: Context, cluster: str, node: str) -> None:
    for entry in context.open_jobs.entries():
        is_here = entry.job.cluster == cluster and entry.job.id in context.clusters[cluster].jobs_on(node)
        if is_here:
            context.spawn(_evict(context, entry, node), f"evict {entry.job.id}")


async def _evict(context: Context, entry: Entry, node: str) -> None:
    """Put the whole gang back into the queue. It has not failed, so no retry is counted."""
    async with entry.lock:
        job, cluster = entry.job, context.clusters[entry.job.cluster]
        if isinstance(job.state, Queued) and cluster.has_slots(job.id):
            cluster.released(job.id)  # its start has not begun
            queue(context, entry)
            context.wake.set()
            return
        is_there = any(task.placement.node == node and not task.has_ended for task in entry.tasks.values())
        if not is_there or not isinstance(job.state, Starting | Running):
            return
        try:
            await stop(context, entry, Verdict(Outcome.PREEMPT, f"node {node} is drained"))
        except (Unavailable, StaleWrite) as error:
            _log.warning("eviction not written, will try again", job=job.id, error=str(error))
            context.later(RETRY_S, partial(_evict, context, entry, node), f"evict {job.id}")
        except MusterError as error:
            _log.warning("job not evicted", job=job.id, error=str(error))
