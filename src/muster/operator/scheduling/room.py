"""How much room is left on each node, kept up to date pod by pod.

A pod takes its room on the node that it is bound to. A pod that was released and is not bound yet takes it on the node
where it was found to fit, until the scheduler has decided.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from muster.kubernetes.amounts import Amounts, pod_requests
from muster.kubernetes.resources import ATTEMPT, Key, Object, labels_of
from muster.kubernetes.times import instant
from muster.operator.scheduling.nodes import Node

GATE = "batch.paddlepaddle.org/gang"
"""The scheduling gate of pods that wait until all pods of their job can start."""
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a pod that has not ended means for the room on nodes."""

    amounts: Amounts
    node: str = ""
    """Where it is bound or about to be; empty while it waits."""
    priority: int = 0
    attempt: str = ""
    """The attempt of its PaddleJob, if it belongs to one."""
    is_held: bool = False
    """Whether the gate of this operator keeps the scheduler from it."""
    is_held_by_others: bool = False
    """Whether somebody else's gate does, such as that of a queue."""
    is_leaving: bool = False
    unschedulable_at: float | None = None
    """Since when the scheduler has found no node for it."""


def footprint(raw: Object) -> Footprint | None:
    """Returns None for a pod that has ended."""
    metadata, spec, status = raw.get("metadata") or {}, raw.get("spec") or {}, raw.get("status") or {}
    if status.get("phase") in _ENDED:
        return None
    priority = spec.get("priority")
    gates = [str(gate.get("name")) for gate in spec.get("schedulingGates") or ()]
    return Footprint(
        amounts=_shared(tuple(pod_requests(spec).items())),
        node=str(spec.get("nodeName") or status.get("nominatedNodeName") or ""),
        priority=priority if isinstance(priority, int) else 0,
        attempt=labels_of(raw).get(ATTEMPT, ""),
        is_held=GATE in gates,
        is_held_by_others=any(gate != GATE for gate in gates),
        is_leaving=bool(metadata.get("deletionTimestamp")),
        unschedulable_at=_unschedulable_at(status.get("conditions") or ()),
    )


@dataclass(frozen=True, slots=True)
class Booking:
    node: str
    amounts: Amounts
    priority: int = 0


class Room:
    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._pods: dict[Key, Footprint] = {}
        self._bound: dict[Key, Booking] = {}
        self._assumed: dict[Key, Booking] = {}
        self._on_node: dict[str, list[Booking]] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._lowest = 0
        self.unschedulable: set[Key] = set()
        """The pods of PaddleJobs for which the scheduler has found no node."""
        self.growth = 0
        """Increases whenever something may fit that did not before."""

    @property
    def nodes(self) -> Iterable[Node]:
        return self._nodes.values()

    @property
    def lowest_priority(self) -> int:
        """No pod has ever had a lower priority."""
        return self._lowest

    def put_node(self, node: Node) -> None:
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = node
            self.growth += 1

    def remove_node(self, name: str) -> None:
        self._nodes.pop(name, None)

    def pod(self, key: Key) -> Footprint | None:
        return self._pods.get(key)

    def put_pod(self, key: Key, found: Footprint | None) -> None:
        """Takes note of a pod; `found` is None if it has ended or is gone."""
        before = self._pods.pop(key, None)
        self.unschedulable.discard(key)
        if found is not None:
            if found.attempt and found.unschedulable_at is not None:
                self.unschedulable.add(key)
            self._pods[key] = found
            self._lowest = min(self._lowest, found.priority)
        if _decides(before, found) and (assumed := self._assumed.pop(key, None)) is not None:
            self._release(assumed)
            self.growth += found is None or found.node != assumed.node
        after = Booking(found.node, found.amounts, found.priority) if found is not None and found.node else None
        if (booked := self._bound.get(key)) == after:
            return
        if booked is not None:
            self._release(self._bound.pop(key))
            self.growth += 1
        if after is not None:
            self._bound[key] = after
            self._book(after)

    def assume(self, key: Key, booking: Booking) -> None:
        self.forget(key)
        self._assumed[key] = booking
        self._book(booking)

    def forget(self, key: Key) -> None:
        """The pod will not be created, or not where it was assumed to be."""
        if (booking := self._assumed.pop(key, None)) is not None:
            self._release(booking)
            self.growth += 1

    def used(self, node: str, least_priority: int | None = None) -> Amounts:
        """What pods take on the node; only those of at least this priority, if one is given."""
        if least_priority is None:
            return self._used.get(node, {})
        found: dict[str, int] = {}
        for booking in self._on_node.get(node, ()):
            if booking.priority >= least_priority:
                _add(found, booking.amounts, 1)
        return found

    def _book(self, booking: Booking) -> None:
        self._on_node.setdefault(booking.node, []).append(booking)
        _add(self._used.setdefault(booking.node, {}), booking.amounts, 1)

    def _release(self, booking: Booking) -> None:
        self._on_node[booking.node].remove(booking)
        _add(self._used[booking.node], booking.amounts, -1)


def _decides(before: Footprint | None, found: Footprint | None) -> bool:
    """Whether it is now known what becomes of a pod that was assumed somewhere. An earlier pod of the same name may
    still be on its way out."""
    if found is None:
        return before is not None and not (before.node or before.is_held or before.is_leaving)
    return found.is_held_by_others or (bool(found.node) and not found.is_leaving)


@lru_cache(maxsize=1024)
def _shared(items: tuple[tuple[str, int], ...]) -> Amounts:
    """Pods that are alike share one object."""
    return dict(items)


def _add(to: dict[str, int], amounts: Amounts, sign: int) -> None:
    for name, amount in amounts.items():
        to[name] = to.get(name, 0) + sign * amount


def _unschedulable_at(conditions: Iterable[Mapping[str, object]]) -> float | None:
    for one in conditions:
        if one.get("type") == "PodScheduled" and one.get("reason") == "Unschedulable":
            return instant(one.get("lastTransitionTime"))
    return None
