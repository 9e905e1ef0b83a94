"""Nodes added and removed by command: written to the cluster files, and in force at once."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from muster.domain.clusters import ClusterNode
from muster.domain.errors import Conflict, NotFound, Unavailable
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.ports.store import Change
from muster.settings.cluster_writing import add_node, node_entry, remove_node
from muster.settings.clusters import ClusterFolder, ClusterSettings


async def add(
    context: Context, cluster: str, request: Mapping[str, Any], password: str | None, *, actor: str
) -> ClusterNode:
    """`request` as the API takes it. Raises Invalid, and nothing has changed then."""
    known = next((known for known in context.sharing.physical if known.name == cluster), None)

    def change(folder: ClusterFolder, texts: Mapping[str, str]) -> ClusterSettings:
        return add_node(folder, cluster, node_entry(folder.kinds, known, request), password, texts)

    settings = await _write(context, change)
    nodes = (node for known in settings.physical if known.name == cluster for node in known.nodes)
    node = next(node for node in nodes if node.name == request["name"])
    event = audit_event("node.add", actor, context.clock(), cluster=cluster, node=node.name, **node.audit_facts)
    await context.apply(Change(events=[event]))
    return node


async def remove(context: Context, name: str, cluster: str | None, *, actor: str) -> None:
    """Raises Conflict for one that an admin wrote into a file, and says where. What was marked of it goes with it:
    another machine may get its name."""
    where = cluster or _cluster_of(context, name)
    await _write(context, lambda folder, texts: remove_node(folder, where, name, texts))
    told = audit_event("node.remove", actor, context.clock(), cluster=where, node=name)
    await context.apply(Change(unmarked_node=(where, name), events=[told]))
    context.marks.pop((where, name), None)


def _cluster_of(context: Context, name: str) -> str:
    physical = context.sharing.physical
    found = [known.name for known in physical if any(node.name == name for node in known.nodes)]
    if len(found) > 1:
        raise Conflict(f"clusters {' and '.join(found)} have a node {name}", hint="say which: --cluster")
    if found:
        return found[0]
    if any(node.name == name for cluster in context.backends for node in context.nodes(cluster)):
        raise Conflict(f"{name} stands in no cluster file", hint="only nodes that were added can be removed")
    raise NotFound(f"there is no node {name!r}", hint="see `muster get nodes`")


async def _write(
    context: Context, change: Callable[[ClusterFolder, Mapping[str, str]], ClusterSettings]
) -> ClusterSettings:
    folder = context.sharing.folder
    if folder is None:
        raise Unavailable("this server has no folder for cluster files")
    async with context.sharing.writing:
        settings = await asyncio.to_thread(change, folder, context.sharing.texts)
        context.sharing.reload(context.clusters)
    return settings
