"""Starts, preempts and releases jobs: the only place where allocations, guarantees, accounts, reservations and ranks
change together, so that they always agree. It carries decisions out and makes none."""

from collections.abc import Iterable

from muster.domain.reasons import Reason
from muster.scheduling.allocations.accounting import Accounts
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.reservations import Reservations
from muster.scheduling.allocations.running_ranks import RunningRanks
from muster.scheduling.capacity.shapes import Shapes
from muster.scheduling.changes import Changes
from muster.scheduling.demand import JobDemand, Slot
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lanes import WaitingJob
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.ordering.wait_queue import WaitQueue
from muster.scheduling.plan import Preemption
from muster.scheduling.preemption.preemption_reasons import gives_way


class Dispatcher:
    def __init__(
        self,
        settings: VcSettings,
        shapes: Shapes,
        queue: WaitQueue,
        allocations: Allocations,
        guarantees: Guarantees,
        reservations: Reservations,
        accounts: Accounts,
        ranks: RunningRanks,
        changes: Changes,
    ) -> None:
        self._settings = settings
        self._shapes = shapes
        self._queue = queue
        self._allocations = allocations
        self._guarantees = guarantees
        self._reservations = reservations
        self._accounts = accounts
        self._ranks = ranks
        self._changes = changes
        self._preemptions: list[Preemption] = []
        """The preemptions of the next plan."""

    def start(
        self,
        waiting: WaitingJob,
        job: JobDemand,
        slots: tuple[Slot, ...],
        now: float,
        guaranteed: tuple[Slot, ...] | None = None,
    ) -> None:
        """Start a waiting job on slots that are allocated already. `job` is its demand at the size that was chosen."""
        self._queue.lanes.remove(job.job_id)
        shape = waiting.shape if job is waiting.job else self._shapes.of(job)
        share = self._allocations.share_of(slots)
        allocation = Allocation(job, shape, slots, now, waiting.priority, share, waiting.rank)
        allocation.waited = waiting
        allocation.is_grown = len(job.tasks) > len(waiting.job.tasks)
        self._add(allocation, guaranteed)
        self._allocations.begin(allocation)

    def restore(self, job: JobDemand, slots: tuple[Slot, ...], since: float) -> Allocation:
        """The job runs on these slots already, or starts on them without having waited."""
        shape = self._shapes.of(job)
        rank = self._settings.policy_of(job.vc).ranker.rank(job, shape.gpus, job.ran_s)
        allocation = Allocation(job, shape, slots, since, job.priority, self._allocations.share_of(slots), rank)
        self._add(allocation, None)
        return allocation

    def release(self, job_id: str) -> None:
        """The job no longer runs: it has ended, has stopped after a preemption, or never started."""
        self._changes.mark()
        preempted = self._allocations.preempted.pop(job_id, None)
        if preempted is None:
            if (allocation := self._allocations.by_job.get(job_id)) is not None:
                self._allocations.remove(allocation)
                self._forget(allocation)
                self._guarantees.revoke(allocation)
            return
        self._guarantees.revoke(preempted)
        for allocation in self._allocations.released(job_id):
            self.touch(allocation)

    def withdraw(self, allocation: Allocation) -> None:
        """The job's start was not planned yet: it waits again."""
        self.release(allocation.job.job_id)
        if allocation.waited is not None:
            self._queue.put_back(allocation.waited)

    def preempt(self, victims: Iterable[Allocation], waiting: WaitingJob, now: float) -> None:
        """Stop jobs whose slots a waiting job has got. Each keeps its rank, so that it cannot preempt in return."""
        for victim in victims:
            job_id = victim.job.job_id
            self._allocations.nodes.remove_job(job_id, victim.slots)
            if victim.waited is None:
                self._queue.note_preempted(job_id, victim.rank)
                name = waiting.job.name_for(victim.job.user)
                self.stop(victim, gives_way(name, is_reclaimed=victim.job.vc != waiting.job.vc), now)
                continue
            self._allocations.forget(victim)  # no plan has named its start yet
            self._forget(victim)
            self._accounts.settle(now)
            self._guarantees.revoke(victim)
            self._queue.put_back(victim.waited)

    def stop(self, victim: Allocation, reason: Reason, now: float) -> None:
        """Stop a running job whose slots are free on the nodes already."""
        self._allocations.forget(victim)
        self._forget(victim)
        self._accounts.settle(now)
        self._allocations.preempted[victim.job.job_id] = victim
        self._preemptions.append(Preemption(victim.job.job_id, reason))
        self._changes.mark()  # a limit that it had reached may let another job start

    def touch(self, allocation: Allocation) -> None:
        self._allocations.touch(allocation)
        self._guarantees.touch(allocation)

    def take_preemptions(self) -> tuple[Preemption, ...]:
        preemptions = tuple(self._preemptions)
        self._preemptions.clear()
        return preemptions

    def _add(self, allocation: Allocation, guaranteed: tuple[Slot, ...] | None) -> None:
        self._allocations.add(allocation)
        self._accounts.started(allocation)
        if guaranteed is not None:
            self._guarantees.grant(allocation, guaranteed)
        else:
            self._guarantees.borrow(allocation)
        self._reservations.started(allocation)
        self._ranks.began(allocation)

    def _forget(self, allocation: Allocation) -> None:
        self._changes.mark_vc(allocation.job.vc)
        self._guarantees.forget(allocation)
        self._accounts.ended(allocation)
        self._reservations.ended(allocation.job.job_id)
