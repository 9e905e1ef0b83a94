"""Finds the running gangs to preempt for a waiting one: only those of a worse effective rank, whole gangs only, and of
all choices the one that loses least work."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from muster.domain.resources import Resources
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.placement import allocate_slots, free_slots, place
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import Slot
from muster.scheduling.preemption.preemption_index import PreemptionIndex

_CANDIDATES = 24
"""How many nodes are compared with each other."""
_FREE_CANDIDATES = 8
"""How many are compared where nothing is lost: there those of the worst rank are preempted."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a waiting gang asks for, and whom it may preempt for that."""

    shape: Shape
    effective_rank: float
    """Only jobs of a greater effective rank are preempted."""
    is_worth_it: Callable[[Allocation], bool]
    now: float

    def may_preempt(self, allocation: Allocation, index: PreemptionIndex) -> bool:
        return (
            allocation.effective_rank() > self.effective_rank
            and index.may_preempt(allocation)
            and self.is_worth_it(allocation)
        )


Refresh = Callable[[str], None]
"""Brings the ranks of a node's jobs up to date, under a policy by which they sink while a job runs."""
Room = tuple[tuple[Slot, ...], list[Allocation]]
"""The slots of a gang, and whom it preempts for them."""


def make_room(claim: Claim, index: PreemptionIndex, refresh: Refresh | None = None) -> Room | None:
    """Slots for the gang, and whom to preempt for them. When this succeeds, the victims' slots are freed on the nodes
    and the gang's are allocated; otherwise nothing is changed."""
    shape = claim.shape
    known = index.worst(shape.need)
    if refresh is not None:
        _bring_up_to_date(known, claim, index, refresh)
    if not known or known[-1][0] <= claim.effective_rank:
        return None
    if shape.one is not None or (shape.whole is not None and index.nodes.most_gpus >= shape.whole.gpus):
        found = _on_one_node(claim, index)
        if found is not None or shape.one is not None:
            return found
    return _on_many_nodes(claim, index)


def _bring_up_to_date(known: list[tuple[float, str]], claim: Claim, index: PreemptionIndex, refresh: Refresh) -> None:
    """Ranks only improve while jobs run, so no indexed rank is better than the real one: update nodes from the worst
    rank on until as many as are compared are up to date."""
    enough = _CANDIDATES * claim.shape.tasks
    fresh: set[str] = set()
    at = len(known) - 1
    while at >= 0 and known[at][0] > claim.effective_rank and len(known) - at <= enough:
        name = known[at][1]
        if name in fresh:
            at -= 1
            continue
        fresh.add(name)
        refresh(name)
        index.update(name)
        at = len(known) - 1


def _on_one_node(claim: Claim, index: PreemptionIndex) -> Room | None:
    """Find the node for the gang on which least work is lost."""
    nodes = index.nodes
    found = min(_choices(claim, index), key=lambda choice: choice[0], default=None)
    if found is None:
        return None
    (_, _, _, name), victims = found
    for victim in victims:
        free_slots(index.slots_of(victim), nodes)
    slots = place(claim.shape, nodes, lambda capacity, _: capacity.name == name)
    if slots is None:  # parts of a GPU, or CPU, only seemed to be enough
        _restore(victims, index)
        return None
    return slots, victims


def _choices(
    claim: Claim, index: PreemptionIndex
) -> Iterator[tuple[tuple[float, float, float, str], list[Allocation]]]:
    """The cost of each node that is compared, and its victims."""
    shape, nodes, now = claim.shape, index.nodes, claim.now
    want = shape.whole or shape.groups[0].want
    suitable = None if shape.is_plain else nodes.nodes_for(shape.where, shape.where_key)
    compared = 0
    for threshold, name in reversed(index.worst(shape.need)):
        if threshold <= claim.effective_rank or compared >= _CANDIDATES:
            return
        if suitable is not None and name not in suitable:
            continue
        if want.extended and not nodes.by_name[name].has_extended(want.extended):
            continue
        compared += 1
        victims = _victims_on(nodes.by_name[name], want, claim, index)
        if not victims:
            continue
        lost = sum(victim.lost_work(now) for victim in victims)
        best_rank = min(victim.effective_rank() for victim in victims)
        yield (lost, -best_rank, sum(victim.gpus for victim in victims), name), victims
        if not lost and compared >= _FREE_CANDIDATES:
            return


def _victims_on(capacity: NodeCapacity, want: Resources, claim: Claim, index: PreemptionIndex) -> list[Allocation]:
    """Whom to preempt on this node: those who lose least first, and nobody who turns out not to be in the way."""
    candidates: list[tuple[float, float, str, Allocation]] = []
    for job_id in capacity.jobs:
        found = index.allocations.get(job_id)
        if found is not None and claim.may_preempt(found, index):
            candidates.append((found.lost_work(claim.now), -found.effective_rank(), job_id, found))
    candidates.sort()  # no two have the same id
    freed: list[Allocation] = []
    fits = capacity.shortage(want) is None
    for _, _, _, allocation in candidates:
        if fits:
            break
        _free_on(capacity, index.slots_of(allocation))
        freed.append(allocation)
        fits = capacity.shortage(want) is None
    needed = list(freed)
    if fits and len(freed) > 1:  # without the only one it did not fit
        for allocation in sorted(freed, key=Allocation.effective_rank):
            _allocate_on(capacity, index.slots_of(allocation))
            if capacity.shortage(want) is None:
                needed.remove(allocation)
            else:
                _free_on(capacity, index.slots_of(allocation))
    for allocation in needed:
        _allocate_on(capacity, index.slots_of(allocation))
    return needed if fits else []


def _on_many_nodes(claim: Claim, index: PreemptionIndex) -> Room | None:
    """Free node after node, those of the worst effective rank first, until the gang fits; then let those stay who are
    not in the way."""
    shape, nodes = claim.shape, index.nodes
    suitable = None if shape.is_plain else nodes.nodes_for(shape.where, shape.where_key)
    freed: dict[str, Allocation] = {}
    visited: set[str] = set()
    slots: tuple[Slot, ...] | None = None
    for threshold, name in reversed(index.worst(shape.need)):
        if threshold <= claim.effective_rank:
            break
        if suitable is not None and name not in suitable:
            continue
        _free_victims(name, freed, claim, index)
        visited.add(name)
        if nodes.free_gpu_m < shape.gpu_m or len(visited) * nodes.most_gpus * 1000 < shape.gpu_m:
            continue
        slots = place(shape, nodes, lambda capacity, _: capacity.name in visited)
        if slots is not None:
            break
    if slots is None:
        _restore(freed.values(), index)
        return None
    return slots, _in_the_way(freed, slots, index)


def _free_victims(node: str, freed: dict[str, Allocation], claim: Claim, index: PreemptionIndex) -> None:
    for job_id in list(index.nodes.by_name[node].jobs):
        allocation = index.allocations.get(job_id)
        if allocation is not None and job_id not in freed and claim.may_preempt(allocation, index):
            freed[job_id] = allocation
            free_slots(index.slots_of(allocation), index.nodes)


def _in_the_way(freed: dict[str, Allocation], slots: tuple[Slot, ...], index: PreemptionIndex) -> list[Allocation]:
    """Those of the freed jobs whose slots the gang needs; the others get theirs back."""
    used = {slot.node for slot in slots}
    for job_id, allocation in sorted(freed.items(), key=lambda item: item[1].effective_rank()):
        own = index.slots_of(allocation)
        if not used & {slot.node for slot in own} or still_free(own, index.nodes):
            _restore([allocation], index)
            del freed[job_id]
    return list(freed.values())


def still_free(slots: tuple[Slot, ...], nodes: NodeIndex) -> bool:
    """Whether these very slots are free, all at once."""
    if len(slots) == 1:
        return is_free_at(slots[0], nodes)
    by_node: dict[str, list[Slot]] = {}
    for slot in slots:
        by_node.setdefault(slot.node, []).append(slot)
    return all(_are_free_on(nodes.by_name.get(name), here) for name, here in by_node.items())


def _are_free_on(capacity: NodeCapacity | None, slots: list[Slot]) -> bool:
    if capacity is None or capacity.cpu_m < sum(slot.resources.cpu_m for slot in slots):
        return False
    if capacity.memory_bytes < sum(slot.resources.memory_bytes for slot in slots) or capacity.tasks < len(slots):
        return False
    shares: dict[int, int] = {}
    for slot in slots:
        for device in slot.devices:
            shares[device] = shares.get(device, 0) + slot.resources.gpu_share
    others = [device for slot in slots for device in slot.extended]
    return capacity.are_free(others) and all(capacity.room_on(device) >= share for device, share in shares.items())


def is_free_at(slot: Slot, nodes: NodeIndex) -> bool:
    capacity = nodes.by_name.get(slot.node)
    return (
        capacity is not None
        and capacity.has_room_on(slot.devices, slot.resources.gpu_share)
        and capacity.cpu_m >= slot.resources.cpu_m
        and capacity.memory_bytes >= slot.resources.memory_bytes
        and capacity.tasks >= 1
        and (not slot.extended or capacity.are_free(slot.extended))
    )


def _restore(allocations: Iterable[Allocation], index: PreemptionIndex) -> None:
    for allocation in allocations:
        allocate_slots(index.slots_of(allocation), index.nodes)


def _free_on(capacity: NodeCapacity, slots: Iterable[Slot]) -> None:
    for slot in slots:
        if slot.node == capacity.name:
            capacity.free(slot.resources, slot.devices, slot.extended)


def _allocate_on(capacity: NodeCapacity, slots: Iterable[Slot]) -> None:
    for slot in slots:
        if slot.node == capacity.name:
            capacity.allocate_exactly(slot.resources, slot.devices, slot.extended)
