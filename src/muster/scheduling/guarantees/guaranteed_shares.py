"""The cells of virtual clusters, which jobs have guaranteed slots in them, and which jobs borrow.

The cells of a virtual cluster are an index of nodes of their own, in which its jobs are placed as in a private cluster
of that size. A job that has slots there cannot be kept waiting: whoever borrows those very devices is preempted. Which
node a cell is on does not matter to the guarantee, so two nodes that are alike exchange their cells while no job is in
them, which saves preemptions. This part changes cells only: what runs on the nodes themselves is not its business.
"""

from collections.abc import Collection, Iterable, Mapping

from muster.domain.nodes import Node
from muster.domain.virtual_clusters import Share, VirtualCluster
from muster.scheduling.allocations.allocation import Allocation, may_lose_guarantee, order_of, slots_in_cells
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.placement import allocate_slots, free_slots, place
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.changes import Changes
from muster.scheduling.demand import Slot
from muster.scheduling.guarantees.cells import are_alike, deal, moved
from muster.scheduling.preemption.preemption_index import PreemptionIndex
from muster.scheduling.preemption.victims import still_free


class Guarantees:
    def __init__(self, allocations: Allocations, needs: Collection[int], changes: Changes) -> None:
        self.cells: dict[str, NodeIndex] = {}
        """The cells of each virtual cluster that is guaranteed anything."""
        self.indexes: dict[str, PreemptionIndex] = {}
        """For each virtual cluster, which of its own jobs would have to give up their guaranteed slots."""
        self._allocations = allocations
        self._by_job = allocations.by_job
        self._needs = needs
        self._changes = changes
        self._is_outdated = False
        self._borrowers: dict[str, dict[int, dict[str, Allocation]]] = {}
        """Jobs that borrow, by virtual cluster and the number of their shape."""

    def outdate(self) -> None:
        """Nodes or settings have changed, so the cells are dealt anew in the next cycle."""
        self._is_outdated = True

    def deal(self, vcs: Collection[VirtualCluster], nodes: Iterable[Node]) -> None:
        """Deal the cells if they are outdated. Running jobs get their guarantees first where they run. What cannot be
        dealt any more is left out: a guarantee is only as good as the hardware."""
        if not self._is_outdated:
            return
        self._is_outdated = False
        self.cells = {}
        for (vc, _), cell in sorted(deal(vcs, nodes)[0].items()):
            self.cells.setdefault(vc, NodeIndex()).put(NodeCapacity(cell))
        self.indexes = {
            vc: PreemptionIndex(cells, self._by_job, slots_in_cells, may_lose_guarantee, self._needs)
            for vc, cells in self.cells.items()
        }
        self._changes.mark_vcs(vc.name for vc in vcs)
        self._borrowers.clear()
        for allocation in self._allocations.preempted.values():
            allocation.guaranteed = None  # its slots were in the old cells
        for allocation in sorted(self._by_job.values(), key=order_of):
            allocation.guaranteed = None
            if allocation.job.vc in self.cells and not self.grant_in_place(allocation):
                self.borrow(allocation)
            self._allocations.touch(allocation)

    # Who has a guarantee, and who borrows

    def borrow(self, allocation: Allocation) -> None:
        """The job runs on slots that its virtual cluster is not guaranteed."""
        allocation.guaranteed = None
        if allocation.job.vc in self.cells:
            of_vc = self._borrowers.setdefault(allocation.job.vc, {})
            of_vc.setdefault(allocation.shape.number, {})[allocation.job.job_id] = allocation

    def grant(self, allocation: Allocation, slots: tuple[Slot, ...]) -> None:
        """The job has these slots of its virtual cluster's cells. Their capacity is allocated already."""
        allocation.guaranteed = slots
        self.cells[allocation.job.vc].add_job(allocation.job.job_id, slots)
        self._stop_borrowing(allocation)

    def grant_in_place(self, allocation: Allocation) -> bool:
        """Guarantee the job the slots on which it runs, if they are free in its virtual cluster's cells."""
        cells = self.cells[allocation.job.vc]
        if not still_free(allocation.slots, cells):
            return False
        allocate_slots(allocation.slots, cells)
        self.grant(allocation, allocation.slots)
        return True

    def demote(self, allocation: Allocation) -> None:
        """Another job of its virtual cluster has got its guaranteed slots: it borrows from now on."""
        self.cells[allocation.job.vc].remove_job(allocation.job.job_id, allocation.guaranteed or ())
        self.borrow(allocation)

    def revoke(self, allocation: Allocation) -> None:
        """The job has stopped, so its guaranteed slots are free."""
        cells = self.cells.get(allocation.job.vc)
        if allocation.guaranteed is not None and cells is not None:
            cells.remove_job(allocation.job.job_id, allocation.guaranteed)
            free_slots(allocation.guaranteed, cells)
            self._changes.mark_vc(allocation.job.vc)
        allocation.guaranteed = None

    def forget(self, allocation: Allocation) -> None:
        """The job no longer has slots on nodes. A guarantee lasts until the job is gone."""
        self._stop_borrowing(allocation)

    def borrowers(self, vc: str) -> Iterable[Mapping[str, Allocation]]:
        """The jobs of a virtual cluster that borrow, those of one shape together."""
        return self._borrowers.get(vc, {}).values()

    def borrowers_like(self, allocation: Allocation) -> Mapping[str, Allocation]:
        return self._borrowers[allocation.job.vc][allocation.shape.number]

    def touch(self, allocation: Allocation) -> None:
        """Something about the job changed that matters to whoever wants its guaranteed slots."""
        cells = self.cells.get(allocation.job.vc)
        if cells is not None and allocation.guaranteed is not None:
            for slot in allocation.guaranteed:
                cells.touched.add(slot.node)

    # Where the guaranteed slots are

    def is_empty_on(self, node: str) -> bool:
        """Whether no job has guaranteed slots on the node."""
        return all(node not in cells.by_name or not cells.by_name[node].jobs for cells in self.cells.values())

    def can_exchange(self, one: Node, other: Node) -> bool:
        """Whether the cells of both nodes are empty, and the nodes are alike."""
        return are_alike(one, other) and self.is_empty_on(one.name) and self.is_empty_on(other.name)

    def exchange(self, one: Node, other: Node) -> None:
        """Exchange the cells of two nodes that are alike, with no job in them."""
        for cells in self.cells.values():
            mine, theirs = cells.by_name.get(one.name), cells.by_name.get(other.name)
            if mine is not None:
                cells.drop(one.name)
            if theirs is not None:
                cells.drop(other.name)
                cells.put(NodeCapacity(moved(theirs.node, one)))
            if mine is not None:
                cells.put(NodeCapacity(moved(mine.node, other)))

    def move(self, guaranteed: tuple[Slot, ...], slots: tuple[Slot, ...], vc: str) -> tuple[Slot, ...]:
        """Move the guaranteed slots of a job to where it runs, so that it need not move later; but only if that leaves
        the others of its virtual cluster holes as large as before. Returns where they are now."""
        cells = self.cells[vc]
        free_slots(guaranteed, cells)
        best = slots if still_free(slots, cells) and _holes(slots, cells) == _holes(guaranteed, cells) else guaranteed
        allocate_slots(best, cells)
        return best

    def repack(self, shape: Shape, vc: str) -> tuple[Slot, ...] | None:
        """Slots for the gang, found by moving the guaranteed slots of jobs that run elsewhere: it does not matter to
        those where their guaranteed slots are, and a private cluster would have been packed well."""
        cells = self.cells[vc]
        if cells.free_gpu_m < shape.gpu_m or not shape.gpu_m:
            return None
        movable = [a for a in self._by_job.values() if a.job.vc == vc and a.guaranteed not in (None, a.slots)]
        if not movable:
            return None
        before = [slots_in_cells(allocation) for allocation in movable]
        for guaranteed in before:
            free_slots(guaranteed, cells)
        slots = place(shape, cells)
        after = _place_all(movable, cells) if slots is not None else None
        if after is None:
            free_slots(slots or (), cells)
            for guaranteed in before:
                allocate_slots(guaranteed, cells)
            return None
        for allocation, old, new in zip(movable, before, after, strict=True):
            cells.remove_job(allocation.job.job_id, old)
            cells.add_job(allocation.job.job_id, new)
            allocation.guaranteed = new
        return slots

    def lent(self, vc: str) -> Share:
        """The devices of its cells on which jobs of other virtual clusters run."""
        cells = self.cells.get(vc)
        gpus: dict[str, int] = {}
        others = (a for a in self._by_job.values() if a.job.vc != vc) if cells is not None else ()
        for slot in (slot for allocation in others for slot in allocation.slots):
            cell = cells.by_name.get(slot.node) if cells is not None else None
            for device in slot.devices:
                if cell is not None and device in cell.models:
                    gpus[cell.models[device]] = gpus.get(cell.models[device], 0) + 1
        return Share(gpus)

    def _stop_borrowing(self, allocation: Allocation) -> None:
        of_vc = self._borrowers.get(allocation.job.vc)
        if of_vc is not None:
            of_vc.get(allocation.shape.number, {}).pop(allocation.job.job_id, None)


def _place_all(allocations: list[Allocation], nodes: NodeIndex) -> list[tuple[Slot, ...]] | None:
    """Slots for each of them, the largest gang first; or for none."""
    found: dict[str, tuple[Slot, ...]] = {}
    for allocation in sorted(allocations, key=lambda allocation: -allocation.gpus):
        slots = place(allocation.shape, nodes)
        if slots is None:
            for taken in found.values():
                free_slots(taken, nodes)
            return None
        found[allocation.job.job_id] = slots
    return [found[allocation.job.job_id] for allocation in allocations]


def _holes(slots: Iterable[Slot], nodes: NodeIndex) -> list[int]:
    return sorted(nodes.by_name[node].all_gpus() for node in {slot.node for slot in slots})
