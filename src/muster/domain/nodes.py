"""A node: a machine that runs tasks, and what may be done with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from muster.domain.resources import Capacity, Device


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
    alerts: tuple[str, ...] = ()
    """What an admin should look at: it is not what its file claims, a card is out of service, a folder is missing."""
    since: float | None = None
    """When it came to this state."""
    withheld: tuple[Device, ...] = ()
    """As the scheduler sees it: devices that are out of service, and may come back."""

    @property
    def is_usable(self) -> bool:
        return self.state is NodeState.READY

    @property
    def is_reachable(self) -> bool:
        return self.state in (NodeState.READY, NodeState.CORDONED, NodeState.DRAINING)

    def in_service(self) -> "Node":
        """The node as the scheduler sees it: without devices that nobody should be given, and what is for people."""
        good = tuple(device for device in self.capacity.devices if not device.out_of_service)
        bad = tuple(replace(device, out_of_service="") for device in self.capacity.devices if device.out_of_service)
        capacity = replace(self.capacity, devices=good)
        return replace(self, capacity=capacity, withheld=bad, note="", alerts=(), since=None)

    def at_best(self) -> "Node":
        """Ready, with all its devices in service."""
        capacity = replace(self.capacity, devices=(*self.capacity.devices, *self.withheld))
        return replace(self, capacity=capacity, withheld=(), state=NodeState.READY)


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


class Mark(StrEnum):
    CORDONED = "cordoned"
    """Nothing new is placed there."""
    DRAINING = "draining"
    """The same, and it is to become empty."""


@dataclass(frozen=True, slots=True)
class NodeMark:
    """What an admin decided about a node. It stays until it is taken back, whatever the node does meanwhile."""

    cluster: str
    node: str
    mark: Mark
    reason: str
    by: str
    at: float

    def applied(self, node: Node, *, is_empty: bool) -> Node:
        """Only a node that is ready looks marked; of others what they are matters more, and the mark is told."""
        told = "; ".join(words for words in (self._words(is_empty), node.note) if words)
        if not node.is_usable:
            return replace(node, note=told)
        state = NodeState.CORDONED if self.mark is Mark.CORDONED else NodeState.DRAINING
        return replace(node, state=state, note=told, since=max(self.at, node.since or 0.0))

    def _words(self, is_empty: bool) -> str:
        what = "drained" if self.mark is Mark.DRAINING and is_empty else str(self.mark)
        return f"{what} by {self.by}{f': {self.reason}' if self.reason else ''}"
