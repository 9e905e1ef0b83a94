"""Whether all members of a gang fit on the nodes at once.

The answer is meant for the moment of release; the scheduler decides. What this cannot know (where volumes are, pods
that want to be apart or together) counts as fitting.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from muster.kubernetes.amounts import Amounts
from muster.kubernetes.resources import Key
from muster.operator.scheduling.gangs import Gang, Members
from muster.operator.scheduling.nodes import Node, may_run_on
from muster.operator.scheduling.room import Room

_Used = Callable[[str], Amounts]


@dataclass(frozen=True, slots=True)
class Kept:
    """A gang that has waited for long: what it lacks is kept for it on the nodes that it may use."""

    gang: Gang
    lacking: frozenset[str]

    def keeps(self, node: Node, amounts: Amounts) -> bool:
        if not any(amounts.get(name) for name in self.lacking):
            return False
        return any(
            _holds(node.offers, members.amounts) and may_run_on(members.spec, node) for members in self.gang.members
        )


@dataclass(frozen=True, slots=True)
class Fit:
    nodes: Mapping[Key, str]
    """Where the pods fit."""
    missing: int = 0
    """How many pods found no node."""
    lacking: frozenset[str] = frozenset()
    """The resources of which they found too little; empty if no node is eligible at all."""


def fit(gang: Gang, room: Room, kept: Sequence[Kept] = ()) -> Fit:
    """Where the members fit now. Pods of lower priority do not count if there is no other way: the scheduler preempts
    them."""
    nodes = list(room.nodes)
    found = _best(gang, nodes, room.used, kept)
    if not found.missing or gang.priority <= room.lowest_priority:
        return found
    over_others = _best(gang, nodes, lambda node: room.used(node, gang.priority), kept)
    return found if over_others.missing else over_others


def fit_on_empty_nodes(gang: Gang, room: Room) -> Fit:
    """Where the members would fit if nothing else ran, and all nodes were in order."""
    return _best(gang, [node.recovered for node in room.nodes], lambda node: {}, ())


def _best(gang: Gang, nodes: Sequence[Node], used: _Used, kept: Sequence[Kept]) -> Fit:
    """Roles are placed one after another, in the order in which the most pods fit."""
    best: Fit | None = None
    for order in permutations(gang.members):
        found = _placed(order, nodes, _Scratch(used, kept))
        if not found.missing:
            return found
        if best is None or found.missing < best.missing:
            best = found
    return best or Fit({})


def _placed(order: Sequence[Members], nodes: Sequence[Node], scratch: "_Scratch") -> Fit:
    places: dict[Key, str] = {}
    lacking: set[str] = set()
    missing = 0
    for members in order:
        waiting = list(members.keys)
        for node in nodes:
            if not waiting:
                break
            if (count := scratch.count(node, members)) and may_run_on(members.spec, node):
                placed, waiting = waiting[:count], waiting[count:]
                scratch.take(node, members.amounts, len(placed))
                places |= dict.fromkeys(placed, node.name)
        if waiting:
            missing += len(waiting)
            lacking |= _lacking(members, nodes, scratch)
    return Fit(places, missing, frozenset(lacking))


def _lacking(members: Members, nodes: Sequence[Node], scratch: "_Scratch") -> set[str]:
    """The resources of which no eligible node has enough; all of them if some node has enough of each."""
    eligible = [node for node in nodes if may_run_on(members.spec, node)]
    if not eligible:
        return set()
    short = {
        name for name, amount in members.amounts.items() if all(scratch.free(node, name) < amount for node in eligible)
    }
    return short or set(members.amounts)


class _Scratch:
    """What is left on the nodes if the pods that were placed so far are there."""

    def __init__(self, used: _Used, kept: Sequence[Kept]) -> None:
        self._used, self._kept = used, kept
        self._taken: dict[str, dict[str, int]] = {}

    def free(self, node: Node, name: str) -> int:
        taken = self._taken.get(node.name)
        return node.offers.get(name, 0) - self._used(node.name).get(name, 0) - (taken.get(name, 0) if taken else 0)

    def count(self, node: Node, members: Members) -> int:
        """How many of the members the node has room for."""
        found = len(members.keys)
        for name, amount in members.amounts.items():
            found = min(found, self.free(node, name) // amount)
            if found <= 0:
                return 0
        return 0 if any(one.keeps(node, members.amounts) for one in self._kept) else found

    def take(self, node: Node, amounts: Amounts, count: int) -> None:
        taken = self._taken.setdefault(node.name, {})
        for name, amount in amounts.items():
            taken[name] = taken.get(name, 0) + amount * count


def _holds(offers: Amounts, amounts: Amounts) -> bool:
    return all(offers.get(name, 0) >= amount for name, amount in amounts.items())
