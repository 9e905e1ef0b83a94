"""Where preemption could make room, without looking at every node."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf

from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import Slot

SlotsOf = Callable[[Allocation], tuple[Slot, ...]]
"""A job's slots among the nodes in question: those on which it runs, or those in the cells of its virtual cluster."""


class PreemptionIndex:
    """For every node and number of GPUs: the effective rank down to which jobs must be preempted to have them all. It
    is kept per node, refreshed only for nodes that have changed, and read from the worst rank on."""

    def __init__(
        self,
        nodes: NodeIndex,
        allocations: Mapping[str, Allocation],
        slots_of: SlotsOf,
        may_preempt: Callable[[Allocation], bool],
        needs: Collection[int],
    ) -> None:
        self.nodes = nodes
        self._ever = needs
        self.allocations = allocations
        self.slots_of = slots_of
        self.may_preempt = may_preempt
        self._needs: dict[int, list[tuple[float, str]]] = {}
        self._of_node: dict[str, dict[int, float]] = {}

    def refresh(self) -> None:
        for name in self.nodes.touched:
            self.update(name)
        self.nodes.touched.clear()

    def worst(self, need: int) -> list[tuple[float, str]]:
        """Nodes by the effective rank of whom must be preempted there for so many GPUs, the worst last."""
        if need not in self._needs:
            self._begin({need, *self._ever} - self._needs.keys())
        return self._needs[need]

    def _begin(self, needs: set[int]) -> None:
        """Index the nodes for these numbers of GPUs, in one go."""
        for need in needs:
            self._needs[need] = []
        for name, capacity in self.nodes.by_name.items():
            if capacity.is_usable and (found := self._thresholds(capacity, needs)):
                self._of_node.setdefault(name, {}).update(found)
                for need, threshold in found.items():
                    self._needs[need].append((threshold, name))
        for need in needs:
            self._needs[need].sort()

    def reach(self, shape: Shape, effective_rank: float) -> bool:
        """Whether any job that is in the way has a worse effective rank than this."""
        known = self.worst(shape.need)
        return bool(known) and known[-1][0] > effective_rank

    def update(self, name: str) -> None:
        """Index a node that has changed."""
        old = self._of_node.pop(name, {})
        capacity = self.nodes.by_name.get(name)
        new = self._thresholds(capacity, self._needs) if capacity is not None and capacity.is_usable else {}
        for need, known in self._needs.items():
            before, after = old.get(need), new.get(need)
            if before == after:
                continue
            if before is not None:
                del known[bisect_left(known, (before, name))]
            if after is not None:
                insort(known, (after, name))
        if new:
            self._of_node[name] = new

    def _thresholds(self, capacity: NodeCapacity, needs: Iterable[int]) -> dict[int, float]:
        free = capacity.all_gpus()
        if not capacity.jobs:
            return {need: inf for need in needs if 0 < need <= free}
        victims = []
        for job_id in capacity.jobs:
            allocation = self.allocations.get(job_id)
            if allocation is not None and self.may_preempt(allocation):
                victims.append((allocation.effective_rank(), _gpus_here(self.slots_of(allocation), capacity.name)))
        if len(victims) > 1:
            victims.sort(reverse=True)
        found: dict[int, float] = {}
        for need in needs:
            have = free
            if need == 0:
                if victims:
                    found[need] = victims[0][0]
                continue
            if have >= need:
                found[need] = inf
                continue
            for effective_rank, gpus in victims:
                have += gpus
                if have >= need:
                    found[need] = effective_rank
                    break
        return found


def _gpus_here(slots: tuple[Slot, ...], node: str) -> int:
    if len(slots) == 1:
        return 0 if slots[0].resources.shares_gpu else len(slots[0].devices)
    return sum(len(slot.devices) for slot in slots if slot.node == node and not slot.resources.shares_gpu)
