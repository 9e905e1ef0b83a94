"""Messages about nodes: which have changed since the last look, made once for all readers with the same rights."""

from collections.abc import Hashable, Mapping
from typing import Any

from muster.domain.nodes import Node
from muster.engine.cluster_access import visible_clusters
from muster.engine.context import Context
from muster.engine.requests.accounts import Principal
from muster.ports.capabilities import NodeUsage
from muster.server.live.messages import message
from muster.server.node_views import Key, seen_nodes
from muster.server.services import Services


class NodeWatch:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._usage: dict[str, Mapping[str, NodeUsage]] = {}
        self.sample()
        self._known = self._look()

    def sample(self) -> None:
        """Take over what was measured since the last call."""
        backends = self._context.backends.items()
        self._usage = {name: dict(backend.capabilities.latest_usage()) for name, backend in backends}

    def changes(self) -> tuple[list[Node], list[Key]]:
        """The nodes that look different from the last time, and those that are gone."""
        before, self._known = self._known, self._look()
        changed = [look[0] for key, look in self._known.items() if before.get(key) != look]
        return changed, [key for key in before if key not in self._known]

    def _look(self) -> dict[Key, tuple[Node, Any]]:
        """All nodes with everything that their views are made of, but for the rights of readers."""
        tasks = self._context.open_jobs.tasks_by_node()
        found: dict[Key, tuple[Node, Any]] = {}
        for cluster in self._context.backends:
            state, usage = self._context.clusters[cluster], self._usage.get(cluster, {})
            for node in self._context.nodes(cluster):
                name = node.name
                here = tuple(task.id for task in tasks.get((cluster, name), ()))
                used = (state.used(name), state.device_shares(name), state.extended_used(name))
                found[cluster, name] = node, (used, here, usage.get(name))
        return found


class NodeMessages:
    """Those of one round."""

    def __init__(self, parts: Services, changed: list[Node], gone: list[Key]) -> None:
        self._parts = parts
        self._changed = changed
        self._gone = gone
        self._made: dict[Hashable, bytes | None] = {}

    def message(self, me: Principal, rights: Hashable) -> bytes | None:
        """The message `nodes` for somebody with these rights, or None if they see no change."""
        if rights not in self._made:
            self._made[rights] = self._message(me)
        return self._made[rights]

    def _message(self, me: Principal) -> bytes | None:
        clusters = set(visible_clusters(self._parts.context, me.user))
        nodes = seen_nodes(me, self._parts, [node for node in self._changed if node.cluster in clusters])
        gone = [{"cluster": cluster, "name": name} for cluster, name in self._gone if cluster in clusters]
        return message("nodes", {"nodes": nodes, "gone": gone}) if nodes or gone else None
