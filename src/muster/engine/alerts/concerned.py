"""Whose work is where: the owners of open jobs, by node and by cluster. It is counted once for all alerts."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from muster.domain.accounts import User
from muster.engine.context import Context

NodeKey = tuple[str, str]
"""The cluster and the node."""


@dataclass(slots=True)
class Concerned:
    user: User
    tasks: Counter[NodeKey] = field(default_factory=Counter)
    """How many tasks that have not ended each node has."""
    _on_node: dict[NodeKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    _on_cluster: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def now(cls, context: Context, user: User) -> "Concerned":
        found = cls(user)
        for entry in context.open_jobs.entries():
            found._on_cluster[entry.job.cluster].add(entry.job.owner)
            for task in entry.tasks.values():
                if not task.has_ended:
                    key = (entry.job.cluster, task.placement.node)
                    found.tasks[key] += 1
                    found._on_node[key].add(entry.job.owner)
        return found

    def by_node(self, key: NodeKey) -> bool:
        """Admins look after all nodes."""
        return self.user.is_admin or self.user.name in self._on_node.get(key, ())

    def by_cluster(self, cluster: str) -> bool:
        return self.user.is_admin or self.user.name in self._on_cluster.get(cluster, ())
