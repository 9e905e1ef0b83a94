"""A reservation for the job that is next and does not fit: when time limits will have freed its places, and where.
Others may start meanwhile if they are gone by then, or stand where they do not matter. Only limits count: a prediction
never reserves anything."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from muster.domain.resources import Resources
from muster.scheduling.arena import Allowed, Arena
from muster.scheduling.demand import JobDemand, Slot
from muster.scheduling.holding import Holder
from muster.scheduling.placement import place, retake, undo
from muster.scheduling.shapes import Shape

_FARTHEST = 5000
"""So many ends are looked at before a reservation is given up."""


class Ends:
    """Holders with a time limit, by when it runs out."""

    def __init__(self) -> None:
        self._order: list[tuple[float, str]] = []
        self._at: dict[str, float] = {}

    def add(self, holder: Holder) -> None:
        limit = holder.job.time_limit_s
        if limit is not None:
            end = holder.since + limit
            self._at[holder.job.job_id] = end
            insort(self._order, (end, holder.job.job_id))

    def remove(self, job_id: str) -> None:
        end = self._at.pop(job_id, None)
        if end is not None:
            del self._order[bisect_left(self._order, (end, job_id))]

    def in_order(self) -> list[tuple[float, str]]:
        return self._order


@dataclass(slots=True)
class Spare:
    """What a reserved node will have left beside the reservation."""

    cpu_m: int
    memory_bytes: int
    gpu_m: int


@dataclass(slots=True)
class Reservation:
    job: JobDemand
    at: float
    spare: dict[str, Spare] = field(default_factory=dict)
    """Only for the nodes it needs."""

    def allows(self, other: JobDemand, now: float) -> Allowed | None:
        """Where a job behind it may go: anywhere if it is gone by then, else where enough is spare."""
        if self._is_gone_before(other, now):
            return None
        gang = Resources(
            sum(task.resources.cpu_m for task in other.tasks), sum(task.resources.memory_bytes for task in other.tasks)
        )
        gpu_m = sum(task.resources.gpu_m for task in other.tasks)
        return lambda ledger, want: self._leaves_enough(ledger.name, gang, gpu_m)

    def charge(self, other: JobDemand, slots: Iterable[Slot], now: float) -> None:
        if self._is_gone_before(other, now):
            return
        for slot in slots:
            if spare := self.spare.get(slot.node):
                spare.cpu_m -= slot.resources.cpu_m
                spare.memory_bytes -= slot.resources.memory_bytes
                spare.gpu_m -= slot.resources.gpu_m

    def _is_gone_before(self, other: JobDemand, now: float) -> bool:
        return other.time_limit_s is not None and now + other.time_limit_s <= self.at

    def _leaves_enough(self, node: str, gang: Resources, gpu_m: int) -> bool:
        """For the whole gang: several of its tasks may come to stand on this node."""
        spare = self.spare.get(node)
        return spare is None or (
            spare.gpu_m >= gpu_m and spare.cpu_m >= gang.cpu_m and spare.memory_bytes >= gang.memory_bytes
        )


def reserve(
    job: JobDemand, shape: Shape, arena: Arena, ends: Ends, holders: Mapping[str, Holder], now: float
) -> Reservation | None:
    """The earliest moment at which limits alone make room, with nothing of the arena changed when this returns."""
    freed: list[Holder] = []
    slots: tuple[Slot, ...] | None = None
    at = now
    try:
        for end, job_id in islice(ends.in_order(), _FARTHEST):
            holder = holders.get(job_id)
            if holder is None:
                continue
            freed.append(holder)
            undo(holder.slots, arena)
            at = max(now, end)
            if not _may_fit_now(shape, holder, arena):
                continue
            slots = place(shape, arena)
            if slots is not None:
                break
        if slots is None:
            return None
        nodes = {slot.node: arena.ledgers[slot.node] for slot in slots}
        spare = {
            name: Spare(ledger.cpu_m, ledger.memory_bytes, 1000 * ledger.all_gpus()) for name, ledger in nodes.items()
        }
        return Reservation(job, at, spare)
    finally:
        if slots is not None:
            undo(slots, arena)
        for holder in freed:
            retake(holder.slots, arena)


def _may_fit_now(shape: Shape, left: Holder, arena: Arena) -> bool:
    """Whether this end can have made the difference: a quick look before a placement is tried."""
    want = shape.groups[0].want
    if not want.gpus or any(group.want.shares_gpu for group in shape.groups):
        return True
    if arena.free_gpu_m < shape.gpu_m:
        return False
    if shape.one is None:
        return True
    ledgers = [arena.ledgers[slot.node] for slot in left.slots if slot.node in arena.ledgers]
    return any(ledger.free_gpus(want.gpu_models) >= want.gpus for ledger in ledgers)
