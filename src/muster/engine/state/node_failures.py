"""What is remembered about nodes that fail tasks for reasons of their own."""

from dataclasses import dataclass, replace

from muster.domain.nodes import Node


@dataclass(frozen=True, slots=True)
class NodeHold:
    """The node gets no new tasks for a while."""

    until: float
    reason: str

    def applied(self, node: Node) -> Node:
        """The node as it is held: no new tasks, and an alert for admins."""
        alerted = replace(node, alerts=(*node.alerts, self.reason))
        return replace(alerted, hold=self.reason).held()
