"""A node: a machine that runs tasks, and what may be done with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from muster.domain.resources import Capacity


class NodeState(StrEnum):
    JOINING = "Joining"
    READY = "Ready"
    CORDONED = "Cordoned"
    DRAINING = "Draining"
    UNREACHABLE = "Unreachable"
    RETIRED = "Retired"


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    cluster: str
    address: str
    capacity: Capacity
    state: NodeState = NodeState.JOINING
    note: str = ""
    """What a person should know, such as why memory limits are not enforced here."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What jobs may ask for by `where.labels`; `rack` and `switch` say where the node hangs in the network."""

    @property
    def is_usable(self) -> bool:
        return self.state is NodeState.READY


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What an admin wrote of a node, and where. What the machine has, it tells itself."""

    name: str
    cluster: str
    labels: Mapping[str, str] = field(default_factory=dict)
    line: int | None = None
    file: str = ""

    def applied(self, node: Node) -> Node:
        """Where both know a label, the admin is right."""
        return replace(node, labels={**node.labels, **self.labels})
