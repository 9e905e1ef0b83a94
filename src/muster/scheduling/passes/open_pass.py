"""The pass of a cycle that shares what guarantees have left: lane by lane in the order of all waiting jobs, until no
job that is next fits anywhere."""

from collections.abc import Callable
from typing import NamedTuple

from muster.domain.reasons import Reason
from muster.scheduling.allocations.accounting import Accounts
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.limits import UsageLimits
from muster.scheduling.allocations.reservations import Reservation, Reservations
from muster.scheduling.capacity.elastic_sizes import at_its_smallest, sizes_to_try
from muster.scheduling.capacity.placement import place
from muster.scheduling.capacity.shapes import Shape, Shapes
from muster.scheduling.capacity.shortage import lacks
from muster.scheduling.demand import JobDemand
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lane_order import LaneOrder
from muster.scheduling.ordering.lanes import Kind, Lane, LaneKey, Stack, WaitingJob
from muster.scheduling.ordering.order_policies import Overtaking
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.ordering.wait_queue import TOP_PRIORITY, WaitQueue
from muster.scheduling.passes.dispatch import Dispatcher
from muster.scheduling.preemption.preemption_index import PreemptionIndex
from muster.scheduling.preemption.preemption_policy import PreemptionPolicy
from muster.scheduling.reporting import wait_reasons

_LOOK_BEHIND = 64
"""How many jobs behind a head are looked at for one that ends before a reserved start."""
_EVERYBODY = "*"
"""It stands for all virtual clusters: a job that has aged to the top lets nobody pass, of whichever of them."""


class _Head(NamedTuple):
    """A job that lets nobody pass who wants what it lacks."""

    name: str
    """A name that anybody may know: the jobs of one lane may have several owners."""
    lacks: str


class OpenPass:
    def __init__(
        self,
        settings: VcSettings,
        shapes: Shapes,
        queue: WaitQueue,
        allocations: Allocations,
        guarantees: Guarantees,
        reservations: Reservations,
        accounts: Accounts,
        limits: UsageLimits,
        preemption: PreemptionPolicy,
        index: PreemptionIndex,
        dispatcher: Dispatcher,
        verdicts: dict[LaneKey, Reason | None],
    ) -> None:
        self._settings = settings
        self._shapes = shapes
        self._queue = queue
        self._allocations = allocations
        self._guarantees = guarantees
        self._reservations = reservations
        self._accounts = accounts
        self._limits = limits
        self._preemption = preemption
        self._index = index
        self._dispatcher = dispatcher
        self._verdicts = verdicts

    def run(self, now: float) -> None:
        order = self._order(now)
        blocked: dict[str, _Head] = {}
        while isinstance(lane := order.next(), Lane):
            waiting = self._queue.lanes.jobs[lane.head[3]]
            ahead = blocked.get(lane.vc) or blocked.get(_EVERYBODY)
            if ahead is not None and (waiting.shape.gpu_m or ahead.lacks != "gpu"):
                self._verdicts[waiting.lane] = wait_reasons.behind(ahead.name)
            elif not self._preemption.may_start(lane, self._allocations.nodes, self._index):
                if lane.kind is not Kind.BY_USAGE or not self._is_open(lane.stacks[1]):
                    order.close(lane.shape, lane.kind)
            elif self._start(waiting, now):
                order.again(lane)
            else:
                self._hold_back_others(waiting, now, blocked)
                reservation = self._reservations.current
                if reservation is not None and reservation.job is not waiting.job:
                    self._backfill(lane, reservation, now)

    def _order(self, now: float) -> LaneOrder[Allocation]:
        stacks = [stack for stack in self._queue.lanes.stacks.values() if self._is_open(stack)]
        usage: Callable[[Lane], float] = lambda lane: self._accounts.of(lane.vc, lane.user).usage(now)  # noqa: E731
        return LaneOrder(stacks, usage, self._is_open)

    def _is_open(self, stack: Stack) -> bool:
        return self._preemption.is_open(stack, self._allocations.nodes, self._index)

    def _backfill(self, lane: Lane, reservation: Reservation, now: float) -> None:
        """Starts those behind a head that would run too long that end before the reserved start."""
        for key in lane.keys[lane.first + 1 : lane.first + _LOOK_BEHIND]:
            waiting = self._queue.lanes.jobs[key[3]]
            if reservation.allows(waiting.job, now) is None and not self._start(waiting, now):
                return

    def _start(self, waiting: WaitingJob, now: float) -> bool:
        """Start the job on free slots, else on those of jobs that it may preempt; or say why it waits."""
        reason = self._may_not_borrow(waiting.job)
        if reason is not None:
            self._verdicts[waiting.lane] = reason
            return False
        for job in sizes_to_try(waiting.job, may_grow=len(self._queue) == 1):
            shape = waiting.shape if job is waiting.job else self._shapes.of(job)
            reason = self._limits.forbids(job, shape, now)
            if reason is None and self._start_on_free(waiting, job, shape, now):
                return True
        if reason is None and self._reservations.current is None and self._start_preempting(waiting, now):
            return True
        self._verdicts[waiting.lane] = reason  # of the smallest size, if that is forbidden
        return False

    def _start_on_free(self, waiting: WaitingJob, job: JobDemand, shape: Shape, now: float) -> bool:
        reservation = self._reservations.current
        slots = place(shape, self._allocations.nodes, None if reservation is None else reservation.allows(job, now))
        if slots is None:
            return False
        if reservation is not None:
            reservation.charge(job, slots, now)
        self._dispatcher.start(waiting, job, slots, now)
        return True

    def _start_preempting(self, waiting: WaitingJob, now: float) -> bool:
        job = at_its_smallest(waiting.job)
        shape = waiting.shape if job is waiting.job else self._shapes.of(job)
        room = self._preemption.make_room(waiting, shape, self._index, now)
        if room is None:
            return False
        slots, victims = room
        self._dispatcher.preempt(victims, waiting, now)
        self._dispatcher.start(waiting, job, slots, now)
        return True

    def _may_not_borrow(self, job: JobDemand) -> Reason | None:
        vc = self._settings.by_name.get(job.vc)
        if vc is not None and not vc.borrows:
            return wait_reasons.only_guaranteed(vc.name)
        if not job.preemptible and self._guarantees.cells:
            return wait_reasons.not_preemptible(job.vc)
        return None

    def _hold_back_others(self, waiting: WaitingJob, now: float, blocked: dict[str, _Head]) -> None:
        """The job does not start. If it has aged to the top, or is first under a strict policy, it keeps others from
        taking what it waits for: by a reservation where time limits allow one, else by letting nobody pass."""
        if self._verdicts.get(waiting.lane) is not None:
            return
        overtaking = self._settings.policy_of(waiting.job.vc).overtaking
        if overtaking is Overtaking.FREE and waiting.priority >= TOP_PRIORITY:
            overtaking = Overtaking.RESERVED
        if overtaking is Overtaking.FREE:
            return
        has_reservation = self._reservations.current is not None
        may_reserve = overtaking is Overtaking.RESERVED and not has_reservation and waiting.job.vc not in blocked
        if may_reserve and self._reservations.reserve(waiting.job, waiting.shape, now):
            return
        if overtaking is Overtaking.NEVER or not has_reservation:
            whom = _EVERYBODY if waiting.priority >= TOP_PRIORITY else waiting.job.vc
            blocked.setdefault(whom, _Head(waiting.job.name_for(None), lacks(waiting.shape, self._allocations.nodes)))
