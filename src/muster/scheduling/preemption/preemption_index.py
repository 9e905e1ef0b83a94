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
    """The effective rank, for every node and number of GPUs, down to which jobs must be preempted to have them all. It
    is kept per node, brought up to date when it is read, for nodes that have changed only, and read from the worst rank
    on."""

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
        """The thresholds of nodes for each number of GPUs, in ascending order of both."""
        self._of_node: dict[str, dict[int, float]] = {}

    def worst(self, need: int) -> list[tuple[float, str]]:
        """Nodes by the effective rank of whom must be preempted there for so many GPUs, the worst last."""
        touched = self.nodes.touched
        if touched:
            for name in touched if self._needs else ():
                self.update(name)
            touched.clear()
        if need not in self._needs:
            self._begin({need, *self._ever} - self._needs.keys())
        return self._needs[need]

    def _begin(self, needs: set[int]) -> None:
        """Index the nodes for these numbers of GPUs, in one go."""
        ascending = sorted(needs)
        for need in needs:
            self._needs[need] = []
        self._needs = dict(sorted(self._needs.items()))
        for name, capacity in self.nodes.by_name.items():
            if capacity.is_usable and (found := self._thresholds(capacity, ascending)):
                self._of_node.setdefault(name, {}).update(found)
                for need, threshold in found.items():
                    self._needs[need].append((threshold, name))
        for need in needs:
            self._needs[need].sort()

    def reach(self, shape: Shape, effective_rank: float) -> bool:
        """Whether whatever is in the way has a worse effective rank than this, on as many nodes as the gang needs at
        least."""
        known = self.worst(shape.need)
        nodes = 1
        if shape.one is None and shape.need:
            per_node = max(1, self.nodes.most_gpus // shape.need)
            nodes = -(-len(shape.groups[0].members) // per_node)
        return len(known) >= nodes and known[-nodes][0] > effective_rank

    def update(self, name: str) -> None:
        """Index a node that has changed."""
        old = self._of_node.get(name, {})
        capacity = self.nodes.by_name.get(name)
        new = self._thresholds(capacity, self._needs) if capacity is not None and capacity.is_usable else {}
        if new == old:
            return
        for need, known in self._needs.items():
            before, after = old.get(need), new.get(need)
            if before == after:
                continue
            if before is not None:
                del known[bisect_left(known, (before, name))]
            if after is not None:
                insort(known, (after, name))
        self._of_node[name] = new

    def _thresholds(self, capacity: NodeCapacity, needs: Iterable[int]) -> dict[int, float]:
        """`needs` are in ascending order: who is preempted for few GPUs is preempted for more."""
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
        threshold, have, taken = inf, free, 0
        for need in needs:
            if need == 0:
                if victims:
                    found[need] = victims[0][0]
                continue
            while have < need and taken < len(victims):
                threshold, gpus = victims[taken]
                have += gpus
                taken += 1
            if have < need:
                break
            found[need] = threshold
        return found


def _gpus_here(slots: tuple[Slot, ...], node: str) -> int:
    if len(slots) == 1:
        return 0 if slots[0].resources.shares_gpu else len(slots[0].devices)
    return sum(len(slot.devices) for slot in slots if slot.node == node and not slot.resources.shares_gpu)
