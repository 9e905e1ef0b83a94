"""One scheduling cycle: lets time pass, honours guarantees, shares what is left, and says what to do.

Jobs are looked at in the order of priority and rank, whole gangs only: each starts on free slots, or on those of jobs
that it may preempt, or not at all and with a reason. When nothing has happened since the last cycle, nothing is
computed.
"""

from muster.domain.reasons import Reason
from muster.scheduling.allocations.accounting import Accounts
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.reservations import Reservations
from muster.scheduling.allocations.running_ranks import RunningRanks
from muster.scheduling.changes import Changes
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lanes import LaneKey
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.ordering.wait_queue import WaitQueue
from muster.scheduling.passes.dispatch import Dispatcher
from muster.scheduling.passes.elastic_growth import ElasticGrowth
from muster.scheduling.passes.guarantee_pass import GuaranteePass
from muster.scheduling.passes.open_pass import OpenPass
from muster.scheduling.plan import Plan
from muster.scheduling.preemption.preemption_policy import PreemptionPolicy
from muster.scheduling.reporting.plan_reasons import PlanReasons
from muster.scheduling.timers import Timer, Timers


class Planner:
    def __init__(
        self,
        settings: VcSettings,
        queue: WaitQueue,
        allocations: Allocations,
        guarantees: Guarantees,
        reservations: Reservations,
        accounts: Accounts,
        ranks: RunningRanks,
        preemption: PreemptionPolicy,
        dispatcher: Dispatcher,
        guarantee_pass: GuaranteePass,
        open_pass: OpenPass,
        growth: ElasticGrowth,
        reasons: PlanReasons,
        verdicts: dict[LaneKey, Reason | None],
        timers: Timers,
        changes: Changes,
    ) -> None:
        self._settings = settings
        self._queue = queue
        self._allocations = allocations
        self._guarantees = guarantees
        self._reservations = reservations
        self._accounts = accounts
        self._ranks = ranks
        self._preemption = preemption
        self._dispatcher = dispatcher
        self._guarantee_pass = guarantee_pass
        self._open_pass = open_pass
        self._growth = growth
        self._reasons = reasons
        self._verdicts = verdicts
        self._timers = timers
        self._changes = changes

    def cycle(self, now: float) -> Plan:
        """Start what can start. The slots of the jobs that start are allocated when this returns."""
        self._reasons.now = max(self._reasons.now, now)
        self._accounts.settle(now)
        self._let_time_pass(now)
        if not self._changes.begin_cycle():
            return Plan(wake_at=self._timers.next_at, reasons=self._reasons)
        self._verdicts.clear()
        self._reservations.begin_cycle(now)
        nodes = (capacity.node for capacity in self._allocations.nodes.by_name.values())
        self._guarantees.deal(self._settings.by_name.values(), nodes)
        for vc in sorted(self._changes.take_vcs() & self._guarantees.cells.keys()):
            self._guarantee_pass.run(vc, now)
        self._open_pass.run(now)
        if not len(self._queue):
            self._growth.run(now)
        starts, preemptions = self._allocations.take_starts(), self._dispatcher.take_preemptions()
        return Plan(starts, preemptions, now if self._changes.is_pending else self._timers.next_at, self._reasons)

    def _let_time_pass(self, now: float) -> None:
        if not self._timers.is_due(now):
            return
        for at, timer, job_id in self._timers.due(now):
            match timer:
                case Timer.DUE:
                    self._queue.become_due(job_id, now)
                case Timer.AGING:
                    self._queue.age(job_id, at)
                case Timer.RANK | Timer.PROTECTION:
                    self._update_running(timer, job_id, at)
                case Timer.LIMIT:
                    self._changes.mark_vcs(self._settings.by_name)
                    self._changes.mark()

    def _update_running(self, timer: Timer, job_id: str, at: float) -> None:
        allocation = self._allocations.by_job.get(job_id)
        if allocation is None:
            return
        if timer is Timer.PROTECTION:
            if self._ranks.end_protection(allocation, at):
                self._dispatcher.touch(allocation)
        elif self._ranks.update(allocation, at):
            self._dispatcher.touch(allocation)
            if self._preemption.is_wanted(allocation, self._queue.lanes):
                self._changes.mark_vc(allocation.job.vc)
                self._changes.mark()
