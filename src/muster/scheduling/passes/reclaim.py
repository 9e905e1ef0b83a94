"""Finds nodes for a job that has guaranteed slots: free ones, else those that other virtual clusters borrow."""

from itertools import islice
from math import inf

from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.capacity.placement import allocate_slots, free_slots, place
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import Slot
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lanes import WaitingJob
from muster.scheduling.passes.dispatch import Dispatcher
from muster.scheduling.preemption.preemption_index import PreemptionIndex
from muster.scheduling.preemption.victims import Claim, is_free_at, make_room, still_free

_FEW = 64

Granted = tuple[tuple[Slot, ...], tuple[Slot, ...]]
"""The slots on which a job runs, and its guaranteed slots; mostly the same."""


class Reclaim:
    def __init__(
        self, allocations: Allocations, guarantees: Guarantees, index: PreemptionIndex, dispatcher: Dispatcher
    ) -> None:
        self._allocations = allocations
        self._guarantees = guarantees
        self._index = index
        self._dispatcher = dispatcher

    def take(self, waiting: WaitingJob, shape: Shape, guaranteed: tuple[Slot, ...], now: float) -> Granted | None:
        """Allocate slots on nodes for a job whose guaranteed slots were found, and preempt for that whom it must. None
        if those slots are occupied by jobs that cannot be preempted; then the guaranteed slots are free again."""
        vc, nodes = waiting.job.vc, self._allocations.nodes
        is_free = still_free(guaranteed, nodes)
        if not is_free and (exchanged := self._exchanged(shape, vc, guaranteed)) is not None:
            guaranteed = exchanged
            is_free = still_free(guaranteed, nodes)
        if is_free:
            allocate_slots(guaranteed, nodes)
            return guaranteed, guaranteed
        if waiting.job.preemptible:  # otherwise it must run on its guaranteed slots, as it cannot be moved there later
            slots = place(shape, nodes) or self._from_borrowers(shape, waiting, now)
            if slots is not None:
                return slots, self._guarantees.move(guaranteed, slots, vc)
        if self._clear(guaranteed, waiting, now):
            return guaranteed, guaranteed
        free_slots(guaranteed, self._guarantees.cells[vc])
        return None

    def grant_borrower(self, allocation: Allocation) -> bool:
        """Give guaranteed slots to a job that has borrowed so far, if there are any. Then nobody preempts it."""
        if not self._grant(allocation):
            return False
        self._allocations.touch(allocation)
        return True

    def _grant(self, allocation: Allocation) -> bool:
        """Guarantee it the slots on which it runs, if that can be, else others."""
        guarantees = self._guarantees
        if guarantees.grant_in_place(allocation):
            return True
        cells = guarantees.cells[allocation.job.vc]
        slots = place(allocation.shape, cells)
        if slots is None:
            return False
        free_slots(slots, cells)
        if self._can_bring_here(allocation, slots):
            runs_on, home = allocation.slots[0].node, slots[0].node
            by_name = self._allocations.nodes.by_name
            guarantees.exchange(by_name[runs_on].node, by_name[home].node)
            if guarantees.grant_in_place(allocation):
                return True
        slots = place(allocation.shape, cells)
        if slots is None:
            return False
        guarantees.grant(allocation, slots)
        return True

    def _can_bring_here(self, allocation: Allocation, slots: tuple[Slot, ...]) -> bool:
        """Whether the cell on one node, in which slots for the job were found, can move to the node where it runs."""
        runs_on, home = allocation.slots[0].node, slots[0].node
        if runs_on == home or any(slot.node != runs_on for slot in allocation.slots):
            return False
        if any(slot.node != home for slot in slots):
            return False
        here = self._allocations.nodes.by_name.get(runs_on)
        return here is not None and self._guarantees.can_exchange(here.node, self._allocations.nodes.by_name[home].node)

    def _exchanged(self, shape: Shape, vc: str, guaranteed: tuple[Slot, ...]) -> tuple[Slot, ...] | None:
        """Move an empty cell on one node to a node where its slots are free."""
        node = guaranteed[0].node
        if any(slot.node != node for slot in guaranteed):
            return None
        nodes, cells = self._allocations.nodes, self._guarantees.cells[vc]
        want = shape.whole or shape.groups[0].want
        free_slots(guaranteed, cells)
        home = nodes.by_name[node].node
        is_empty = self._guarantees.is_empty_on(node)
        candidates = (capacity.node for capacity in islice(nodes.fitting(want), _FEW if is_empty else 0))
        other = next((one for one in candidates if self._guarantees.can_exchange(one, home)), None)
        if other is not None:
            self._guarantees.exchange(home, other)
            found = place(shape, cells, lambda capacity, _: capacity.name == other.name)
            if found is not None:
                return found
            self._guarantees.exchange(home, other)
        allocate_slots(guaranteed, cells)
        return None

    def _from_borrowers(self, shape: Shape, waiting: WaitingJob, now: float) -> tuple[Slot, ...] | None:
        """Preempt those jobs that lose least, among all that borrow, wherever they run."""
        room = make_room(Claim(shape, -inf, lambda allocation: True, now), self._index)
        if room is None:
            return None
        slots, victims = room
        self._dispatcher.preempt(victims, waiting, now)
        return slots

    def _clear(self, guaranteed: tuple[Slot, ...], waiting: WaitingJob, now: float) -> bool:
        """Preempt whoever occupies these very slots, even a job with guaranteed slots elsewhere: nobody else was
        guaranteed these. This is the last resort, where what is borrowed lies scattered."""
        nodes = self._allocations.nodes
        victims: dict[str, Allocation] = {}
        for number, slot in enumerate(guaranteed):
            for allocation in self._occupants(slot, now):
                victims[allocation.job.job_id] = allocation
                free_slots(allocation.slots, nodes)
                nodes.remove_job(allocation.job.job_id, allocation.slots)
            if not is_free_at(slot, nodes):
                free_slots(guaranteed[:number], nodes)
                for allocation in victims.values():
                    allocate_slots(allocation.slots, nodes)
                    nodes.add_job(allocation.job.job_id, allocation.slots)
                return False
            nodes.allocate_exactly(slot)
        self._dispatcher.preempt(victims.values(), waiting, now)
        return True

    def _occupants(self, slot: Slot, now: float) -> list[Allocation]:
        """The jobs that have its devices; then, for CPU and memory, those on the node that lose least."""
        capacity, by_job = self._allocations.nodes.by_name[slot.node], self._allocations.by_job
        here = [by_job[job_id] for job_id in capacity.jobs if job_id in by_job]
        movable = [one for one in here if one.job.preemptible and _borrows_on(one, slot.node)]
        want, devices = slot.resources, set(slot.devices)
        found = [
            one
            for one in movable
            if any(s.node == slot.node and devices.intersection(s.devices) for s in one.slots)
            and (want.gpu_share == 1000 or any(capacity.room_on(device) < want.gpu_share for device in devices))
        ]
        for one in sorted(movable, key=lambda one: (one.lost_work(now), one.job.job_id)):
            freed = [s.resources for other in found for s in other.slots if s.node == slot.node]
            cpu_m = capacity.cpu_m + sum(resources.cpu_m for resources in freed)
            memory = capacity.memory_bytes + sum(resources.memory_bytes for resources in freed)
            if cpu_m >= want.cpu_m and memory >= want.memory_bytes and capacity.tasks + len(freed) >= 1:
                break
            if one not in found:
                found.append(one)
        return found


def _borrows_on(allocation: Allocation, node: str) -> bool:
    """Whether it runs on devices of the node that it is not guaranteed."""
    guaranteed = [slot for slot in allocation.guaranteed or () if slot.node == node]
    own = {device for slot in guaranteed for device in slot.devices}
    return not guaranteed or not all(own.issuperset(slot.devices) for slot in allocation.slots if slot.node == node)
