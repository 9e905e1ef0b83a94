"""Adds and removes nodes by command. The change is written to the cluster files, and is in force at once."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from muster.domain.clusters import ClusterNode
from muster.domain.errors import Conflict, NotFound, Unavailable
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.ports.cluster_config import ClusterConfig
from muster.ports.store import Change

T = TypeVar("T")


async def add(
    context: Context, cluster: str, request: Mapping[str, Any], password: str | None, *, actor: str
) -> ClusterNode:
    """Adds a node that is described as the API takes it. Raises Invalid, and nothing has changed then."""
    node = await _write(context, lambda source: source.add_node(cluster, request, password))
    event = audit_event("node.add", actor, context.clock(), cluster=cluster, node=node.name, **node.audit_facts)
    await context.apply(Change(events=[event]))
    return node


async def remove(context: Context, name: str, cluster: str | None, *, actor: str) -> None:
    """Removes a node that was added, and its marks, because another machine may get its name. Raises Conflict for a
    node that an admin wrote into a file, and says where."""
    where = cluster or _cluster_of(context, name)
    await _write(context, lambda source: source.remove_node(where, name))
    event = audit_event("node.remove", actor, context.clock(), cluster=where, node=name)
    await context.apply(Change(unmarked_node=(where, name), events=[event]))
    context.marks.pop((where, name), None)


def _cluster_of(context: Context, name: str) -> str:
    physical = context.config.physical
    found = [known.name for known in physical if any(node.name == name for node in known.nodes)]
    if len(found) > 1:
        raise Conflict(f"clusters {' and '.join(found)} have a node {name}", hint="say which: --cluster")
    if found:
        return found[0]
    if any(node.name == name for cluster in context.backends for node in context.nodes(cluster)):
        raise Conflict(f"{name} is not listed in a cluster file", hint="only nodes that were added can be removed")
    raise NotFound(f"there is no node {name!r}", hint="see `muster get nodes`")


async def _write(context: Context, change: Callable[[ClusterConfig], T]) -> T:
    source = context.config.source
    if source is None:
        raise Unavailable("this server has no folder for cluster files")
    async with context.config.writing:
        result = await asyncio.to_thread(change, source)
        context.config.reload(context.clusters)
    return result
