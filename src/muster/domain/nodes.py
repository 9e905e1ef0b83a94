"""Nodes: the machines that run tasks, their states, and the marks that admins put on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from muster.domain.resources import Capacity, Device, ExtendedDevice, Reserved


class NodeState(StrEnum):
    JOINING = "Joining"
    READY = "Ready"
    CORDONED = "Cordoned"
    DRAINING = "Draining"
    UNREACHABLE = "Unreachable"
    RETIRED = "Retired"


@dataclass(frozen=True, slots=True)
class OthersUse:
    """What jobs that were not made with Muster have been allocated on a node."""

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class EngineUse:
    """What the engine of a cluster has allocated on a node, to Muster's tasks and to others together."""

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: tuple[int, ...] = ()
    """The indices of the GPUs."""
    others: OthersUse = field(default_factory=OthersUse)


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    cluster: str
    address: str
    capacity: Capacity
    state: NodeState = NodeState.JOINING
    note: str = ""
    """A remark for people, such as why memory limits are not enforced on the node."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that jobs select by `where.labels`. `rack` and `switch` give the node's position in the network."""
    alerts: tuple[str, ...] = ()
    """Problems for an admin: the node differs from its cluster file, a GPU is out of service, a folder is missing."""
    since: float | None = None
    """When the node entered this state."""
    hold: str = ""
    """Why the node gets no new tasks although it is Ready, such as a health check that fails. Empty if it gets some."""
    withheld: tuple[Device, ...] = ()
    """The devices that are out of service and may come back. Only the scheduler's view of a node has them."""
    withheld_extended: tuple[ExtendedDevice, ...] = ()
    """The same for devices other than GPUs."""
    partitions: tuple[str, ...] = ()
    """The partitions that the node belongs to, in an engine that has some."""
    use: EngineUse | None = None
    """What an engine that places tasks itself has allocated there. None if Muster places them, or if the engine does
    not say."""

    @property
    def is_usable(self) -> bool:
        return self.state is NodeState.READY

    @property
    def is_reachable(self) -> bool:
        return self.state in (NodeState.READY, NodeState.CORDONED, NodeState.DRAINING)

    def in_service(self) -> "Node":
        """The scheduler's view of the node, without devices that are out of service and without remarks for people,
        but for why it is held."""
        good = tuple(device for device in self.capacity.devices if not device.out_of_service)
        bad = tuple(replace(device, out_of_service="") for device in self.capacity.devices if device.out_of_service)
        capacity = replace(self.capacity, devices=good)
        node = replace(self, capacity=capacity, withheld=bad, note="", alerts=(), since=None)
        return node._without_bad_extended() if capacity.extended else node

    def _without_bad_extended(self) -> "Node":
        good = tuple(device for device in self.capacity.extended if not device.out_of_service)
        bad = tuple(replace(device, out_of_service="") for device in self.capacity.extended if device.out_of_service)
        return replace(self, capacity=replace(self.capacity, extended=good), withheld_extended=bad)

    def held(self) -> "Node":
        """The node as everybody sees it: one that is held is Cordoned, and its note says why."""
        if not self.hold or not self.is_usable:
            return self
        return replace(self, state=NodeState.CORDONED, note=self.hold)

    def at_best(self) -> "Node":
        """The node as it would be if it were Ready with all its devices in service."""
        capacity = replace(
            self.capacity,
            devices=(*self.capacity.devices, *self.withheld),
            extended=(*self.capacity.extended, *self.withheld_extended),
        )
        return replace(self, capacity=capacity, withheld=(), withheld_extended=(), state=NodeState.READY)


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The settings of a node from its cluster file. The agent reports what the machine actually has."""

    name: str
    cluster: str
    labels: Mapping[str, str] = field(default_factory=dict)
    line: int | None = None
    file: str = ""
    reserved: Reserved | None = None
    """If it is None, what the cluster reserves on each node is reserved on this one."""
    max_tasks: int | None = None
    """How many tasks run on this node at the same time, if that is less than on the others."""

    def applied(self, node: Node) -> Node:
        """The node with these settings. If both define a label, the admin's value wins."""
        return replace(node, labels={**node.labels, **self.labels})


class Mark(StrEnum):
    CORDONED = "cordoned"
    """No new tasks are placed on the node."""
    DRAINING = "draining"
    """No new tasks are placed on the node, and it is to become empty."""


@dataclass(frozen=True, slots=True)
class NodeMark:
    """An admin's decision about a node. It holds until an admin revokes it, whatever happens to the node."""

    cluster: str
    node: str
    mark: Mark
    reason: str
    by: str
    at: float

    def applied(self, node: Node, *, is_empty: bool) -> Node:
        """The node with this mark. Only a Ready node changes its state; on others the mark appears in the note."""
        told = "; ".join(words for words in (self._words(is_empty), node.note) if words)
        if not node.is_usable:
            return replace(node, note=told)
        state = NodeState.CORDONED if self.mark is Mark.CORDONED else NodeState.DRAINING
        return replace(node, state=state, note=told, since=max(self.at, node.since or 0.0))

    def _words(self, is_empty: bool) -> str:
        what = "drained" if self.mark is Mark.DRAINING and is_empty else str(self.mark)
        return f"{what} by {self.by}{f': {self.reason}' if self.reason else ''}"
