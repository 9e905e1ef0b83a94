"""The pass of a cycle that honours guarantees: each virtual cluster is served in its own order, as if it were alone."""

from collections.abc import Mapping

from muster.domain.reasons import Reason
from muster.scheduling.allocations.accounting import Accounts
from muster.scheduling.allocations.allocation import Allocation, order_of
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.limits import UsageLimits
from muster.scheduling.capacity.elastic_sizes import sizes_to_try
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.placement import place
from muster.scheduling.capacity.shapes import Shape, Shapes
from muster.scheduling.demand import Slot
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lane_order import LaneOrder
from muster.scheduling.ordering.lanes import Kind, Lane, LaneKey, WaitingJob
from muster.scheduling.ordering.order_policies import Overtaking
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.ordering.wait_queue import TOP_PRIORITY, WaitQueue
from muster.scheduling.passes.dispatch import Dispatcher
from muster.scheduling.passes.reclaim import Reclaim
from muster.scheduling.preemption.preemption_policy import PreemptionPolicy


class GuaranteePass:
    def __init__(
        self,
        settings: VcSettings,
        shapes: Shapes,
        queue: WaitQueue,
        allocations: Allocations,
        guarantees: Guarantees,
        accounts: Accounts,
        limits: UsageLimits,
        preemption: PreemptionPolicy,
        reclaim: Reclaim,
        dispatcher: Dispatcher,
        verdicts: dict[LaneKey, Reason | None],
    ) -> None:
        self._settings = settings
        self._shapes = shapes
        self._queue = queue
        self._allocations = allocations
        self._guarantees = guarantees
        self._accounts = accounts
        self._limits = limits
        self._preemption = preemption
        self._reclaim = reclaim
        self._dispatcher = dispatcher
        self._verdicts = verdicts

    def run(self, vc: str, now: float) -> None:
        """Looks at the waiting jobs in the order of the virtual cluster, and at those that have borrowed so far."""
        is_strict = self._settings.policy_of(vc).overtaking is Overtaking.NEVER
        order = self._order(vc, now, is_strict=is_strict)
        while (entry := order.next()) is not None:
            if isinstance(entry, Allocation):
                is_served = self._serve_borrower(entry, order, is_strict=is_strict)
            elif not is_strict and not self._may_start(entry, vc):
                if entry.kind is not Kind.BY_USAGE or not self._is_open(entry, vc):
                    order.close(entry.shape, entry.kind)
                continue
            else:
                waiting = self._queue.lanes.jobs[entry.head[3]]
                is_served = self._start(waiting, now)
                if is_served:
                    order.again(entry)
                elif waiting.priority >= TOP_PRIORITY and self._may_hold_back(waiting):
                    return
            if is_strict and not is_served:
                return

    def _order(self, vc: str, now: float, *, is_strict: bool) -> LaneOrder[Allocation]:
        cells, index = self._guarantees.cells[vc], self._guarantees.indexes[vc]
        policy = self._preemption
        stacks = [s for s in self._queue.lanes.own_stacks.get(vc, {}).values() if policy.is_open(s, cells, index)]
        order: LaneOrder[Allocation] = LaneOrder(
            stacks,
            lambda lane: self._accounts.of(lane.vc, lane.user).usage(now),
            lambda stack: policy.is_open(stack, cells, index),
        )
        for alike in self._guarantees.borrowers(vc):
            if is_strict:
                for allocation in alike.values():
                    order.offer(order_of(allocation), allocation)
            else:
                _offer_first(order, alike, cells)
        if is_strict:  # a preempted job comes back, and before those behind it
            for allocation in self._allocations.preempted.values():
                if allocation.job.vc == vc and allocation.guaranteed is None:
                    order.offer(order_of(allocation), allocation)
        return order

    def _serve_borrower(self, allocation: Allocation, order: LaneOrder[Allocation], *, is_strict: bool) -> bool:
        cells = self._guarantees.cells[allocation.job.vc]
        is_here = self._allocations.by_job.get(allocation.job.job_id) is allocation
        if not (is_here and cells.may_fit(allocation.shape) and self._reclaim.grant_borrower(allocation)):
            return False
        if not is_strict:
            _offer_first(order, self._guarantees.borrowers_like(allocation), cells)
        return True

    def _may_start(self, lane: Lane, vc: str) -> bool:
        return self._preemption.may_start(lane, self._guarantees.cells[vc], self._guarantees.indexes[vc])

    def _is_open(self, lane: Lane, vc: str) -> bool:
        return self._preemption.is_open(lane.stacks[0], self._guarantees.cells[vc], self._guarantees.indexes[vc])

    def _may_hold_back(self, waiting: WaitingJob) -> bool:
        """Whether the whole guarantee should be kept for it: it would fit there, and nothing forbids it."""
        cells = self._guarantees.cells[waiting.job.vc]
        most = 1000 * sum(len(capacity.models) for capacity in cells.usable())
        return self._verdicts.get(waiting.lane) is None and waiting.shape.gpu_m <= most

    def _start(self, waiting: WaitingJob, now: float) -> bool:
        """Start the job on guaranteed slots, at the largest size for which there are some."""
        for job in sizes_to_try(waiting.job, may_grow=len(self._queue) == 1):
            shape = waiting.shape if job is waiting.job else self._shapes.of(job)
            if (reason := self._limits.forbids(job, shape, now)) is not None:
                self._verdicts[waiting.lane] = reason
                continue
            guaranteed = self._guaranteed_slots(waiting, shape, now)
            if guaranteed is None:
                continue
            taken = self._reclaim.take(waiting, shape, guaranteed, now)
            if taken is not None:
                self._dispatcher.start(waiting, job, taken[0], now, taken[1])
            return taken is not None
        return False

    def _guaranteed_slots(self, waiting: WaitingJob, shape: Shape, now: float) -> tuple[Slot, ...] | None:
        """Slots in the cells: free ones, else those of jobs of the same virtual cluster that it may preempt."""
        vc = waiting.job.vc
        slots = place(shape, self._guarantees.cells[vc]) or self._guarantees.repack(shape, vc)
        if slots is not None:
            return slots
        room = self._preemption.make_room(waiting, shape, self._guarantees.indexes[vc], now)
        if room is None:
            return None
        slots, losers = room
        for allocation in losers:
            self._guarantees.demote(allocation)
            self._allocations.touch(allocation)
        return slots


def _offer_first(order: LaneOrder[Allocation], alike: Mapping[str, Allocation], cells: NodeIndex) -> None:
    """Offer the first job of a shape: when there is no room for it, there is none for the others either."""
    if not alike or not cells.may_fit(next(iter(alike.values())).shape):
        return
    first = min((one for one in alike.values() if one.blocked_by is None), key=order_of, default=None)
    if first is not None:
        order.offer(order_of(first), first)
