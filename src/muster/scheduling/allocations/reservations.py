"""A reservation for the job that is next and does not fit: when time limits will have freed its slots, and where.
Others may start meanwhile if they end before that, or run where they do not matter. Only time limits count: a
prediction never reserves anything."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from math import inf

from muster.domain.resources import Resources, total
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.capacity.node_index import Allowed, NodeIndex
from muster.scheduling.capacity.placement import allocate_slots, free_slots, place
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import JobDemand, Slot

_ON_TIME_S = 1e-6
_FARTHEST = 5000
"""How many ends are looked at before a reservation is given up."""


@dataclass(slots=True)
class Spare:
    """What a reserved node will have left besides the reservation."""

    cpu_m: int
    memory_bytes: int
    gpu_m: int
    extended: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Reservation:
    job: JobDemand
    at: float
    spare: dict[str, Spare] = field(default_factory=dict)
    """What is left on each node that the reservation needs."""

    def allows(self, other: JobDemand, now: float) -> Allowed | None:
        """Where a job behind it may go: anywhere if it ends before, else where enough is left. None means anywhere."""
        if self._ends_before(other, now):
            return None
        gang = Resources(
            sum(task.resources.cpu_m for task in other.tasks),
            sum(task.resources.memory_bytes for task in other.tasks),
            extended=total(task.resources.extended for task in other.tasks if task.resources.extended),
        )
        gpu_m = sum(task.resources.gpu_m for task in other.tasks)
        return lambda capacity, want: self._leaves_enough(capacity.name, gang, gpu_m)

    def charge(self, other: JobDemand, slots: Iterable[Slot], now: float) -> None:
        """A job behind it has started on these slots."""
        if self._ends_before(other, now):
            return
        for slot in slots:
            if spare := self.spare.get(slot.node):
                spare.cpu_m -= slot.resources.cpu_m
                spare.memory_bytes -= slot.resources.memory_bytes
                spare.gpu_m -= slot.resources.gpu_m
                for name, count in slot.resources.extended:
                    spare.extended[name] = spare.extended.get(name, 0) - count

    def _ends_before(self, other: JobDemand, now: float) -> bool:
        return other.time_limit_s is not None and now + other.time_limit_s <= self.at

    def _leaves_enough(self, node: str, gang: Resources, gpu_m: int) -> bool:
        """Whether the whole gang may go to the node: several of its tasks may end up there."""
        spare = self.spare.get(node)
        return spare is None or (
            spare.gpu_m >= gpu_m
            and spare.cpu_m >= gang.cpu_m
            and spare.memory_bytes >= gang.memory_bytes
            and all(spare.extended.get(name, 0) >= count for name, count in gang.extended)
        )


class Reservations:
    """Time limits of running jobs, and the reservation that they allow. It is kept from cycle to cycle as long as jobs
    end when their limits say, and only those start that it allows."""

    def __init__(self, allocations: Allocations) -> None:
        self.current: Reservation | None = None
        """The reservation that this cycle has to respect."""
        self._allocations = allocations
        self._ends: list[tuple[float, str]] = []
        """When the time limits of running jobs run out, in order."""
        self._end_of: dict[str, float] = {}
        self._kept: Reservation | None = None
        """The latest reservation. It may still be valid in this cycle."""
        self._kept_for = -1
        """The version of the nodes for which it was worked out."""
        self._ended: list[float] = []
        """When the jobs that have ended since the last cycle were to end at the latest."""

    def started(self, allocation: Allocation) -> None:
        limit = allocation.job.time_limit_s
        if limit is not None:
            end = allocation.since + limit
            self._end_of[allocation.job.job_id] = end
            insort(self._ends, (end, allocation.job.job_id))
        if self.current is None:  # it may have taken what was reserved
            self._kept = None

    def ended(self, job_id: str) -> None:
        end = self._end_of.pop(job_id, None)
        if end is not None:
            del self._ends[bisect_left(self._ends, (end, job_id))]
        if self._kept is not None:
            self._ended.append(inf if end is None else end)

    def begin_cycle(self, now: float) -> None:
        """Nothing is reserved yet. If a job has ended early, an earlier start than the one reserved may be possible."""
        self.current = None
        if any(end > now + _ON_TIME_S for end in self._ended):
            self._kept = None
        self._ended.clear()

    def reserve(self, job: JobDemand, shape: Shape, now: float) -> bool:
        """Reserve the earliest moment at which time limits alone make room, if there is one."""
        version = self._allocations.nodes.nodes_version
        kept = self._kept
        if kept is None or kept.job is not job or kept.at < now or self._kept_for != version:
            kept = self._earliest(job, shape, now)
            self._kept, self._kept_for = kept, version
        self.current = kept
        return kept is not None

    def _earliest(self, job: JobDemand, shape: Shape, now: float) -> Reservation | None:
        """Let running jobs end one after the other until the gang fits; nothing is changed when this returns."""
        nodes, by_job = self._allocations.nodes, self._allocations.by_job
        freed: list[Allocation] = []
        found: Reservation | None = None
        for end, job_id in islice(self._ends, _FARTHEST):
            allocation = by_job.get(job_id)
            if allocation is None:
                continue
            freed.append(allocation)
            free_slots(allocation.slots, nodes)
            if _may_fit_now(shape, allocation, nodes) and (slots := place(shape, nodes)) is not None:
                found = Reservation(job, max(now, end), _left_besides(slots, nodes))
                free_slots(slots, nodes)
                break
        for allocation in freed:
            allocate_slots(allocation.slots, nodes)
        return found


def _left_besides(slots: Iterable[Slot], nodes: NodeIndex) -> dict[str, Spare]:
    used = {slot.node: nodes.by_name[slot.node] for slot in slots}
    return {
        name: Spare(
            capacity.cpu_m,
            capacity.memory_bytes,
            1000 * capacity.all_gpus(),
            {resource: len(free) for resource, free in capacity.free_extended.items()},
        )
        for name, capacity in used.items()
    }


def _may_fit_now(shape: Shape, ended: Allocation, nodes: NodeIndex) -> bool:
    """Whether this end can have made the difference: a quick look before a placement is tried."""
    want = shape.groups[0].want
    if not want.gpus or any(group.want.shares_gpu for group in shape.groups):
        return True
    if nodes.free_gpu_m < shape.gpu_m:
        return False
    if shape.one is None:
        return True
    capacities = [nodes.by_name[slot.node] for slot in ended.slots if slot.node in nodes.by_name]
    return any(capacity.free_gpus(want.gpu_models) >= want.gpus for capacity in capacities)
