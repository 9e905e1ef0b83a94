"""Restarts elastic gangs with more tasks when nobody waits."""

from muster.scheduling.allocations.allocation import Allocation, may_be_preempted
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.limits import UsageLimits
from muster.scheduling.capacity.elastic_sizes import sizes_to_try
from muster.scheduling.capacity.placement import allocate_slots, free_slots, place
from muster.scheduling.capacity.shapes import Shapes
from muster.scheduling.demand import JobDemand
from muster.scheduling.passes.dispatch import Dispatcher
from muster.scheduling.preemption.preemption_policy import GROW_LOSS_S
from muster.scheduling.preemption.preemption_reasons import resized


class ElasticGrowth:
    def __init__(self, shapes: Shapes, allocations: Allocations, limits: UsageLimits, dispatcher: Dispatcher) -> None:
        self._shapes = shapes
        self._allocations = allocations
        self._limits = limits
        self._dispatcher = dispatcher

    def run(self, now: float) -> None:
        """Stop every gang that may grow; it starts again at once, at its new size."""
        nodes = self._allocations.nodes
        for allocation in list(self._allocations.by_job.values()):
            if not _may_be_resized(allocation, now):
                continue
            free_slots(allocation.slots, nodes)
            sizes = sizes_to_try(allocation.job, may_grow=True)
            larger = next((job for job in sizes if self._fits(job, allocation, now)), None)
            if larger is None:
                allocate_slots(allocation.slots, nodes)
                continue
            nodes.remove_job(allocation.job.job_id, allocation.slots)
            self._dispatcher.stop(allocation, resized(len(allocation.job.tasks), len(larger.tasks)), now)

    def _fits(self, larger: JobDemand, allocation: Allocation, now: float) -> bool:
        """Whether so many tasks are more than it has, are allowed, and fit when its own slots are free."""
        if len(larger.tasks) <= len(allocation.job.tasks):
            return False
        shape = self._shapes.of(larger)
        if self._limits.forbids(larger, shape, now, allocation.shape) is not None:
            return False
        slots = place(shape, self._allocations.nodes)
        free_slots(slots or (), self._allocations.nodes)
        return slots is not None


def _may_be_resized(allocation: Allocation, now: float) -> bool:
    if not allocation.job.elastic or not may_be_preempted(allocation) or not allocation.is_resumable:
        return False
    is_running = allocation.waited is None and now > allocation.since
    return is_running and allocation.lost_s(now) <= GROW_LOSS_S
