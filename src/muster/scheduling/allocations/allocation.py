"""The slots that a job has, what it would cost to take them away, and whom a waiting job may preempt."""

from dataclasses import dataclass

from muster.domain.virtual_clusters import Share
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import JobDemand, Slot
from muster.scheduling.ordering.lanes import WaitingJob

PRIORITY_STEP = 1000.0
"""Larger than the difference of any two ranks, so that a lower priority comes later whatever its rank."""


@dataclass(slots=True, eq=False)
class Allocation:
    job: JobDemand
    shape: Shape
    slots: tuple[Slot, ...]
    since: float
    priority: int
    share: Share
    """What its slots amount to, by GPU model."""
    rank: float = 0.0
    checkpoint_at: float | None = None
    guaranteed: tuple[Slot, ...] | None = None
    """Its slots in the cells of its virtual cluster, or None if it borrows. They are mostly the slots on which it runs;
    if not, it may have to move there."""
    is_grown: bool = False
    """Whether it is an elastic gang with more tasks than it asked for. Such a gang shrinks for anybody."""
    rank_at: float = 0.0
    """When its rank may change."""
    protected_until: float = 0.0
    """It had waited long: until then only a guarantee preempts it."""
    blocked_by: set[str] | None = None
    """Preempted jobs that still occupy its slots. None once it has started."""
    waited: WaitingJob | None = None
    """The job as it was in the queue, until its start is planned. Until then it may go back there."""

    @property
    def gpus(self) -> float:
        return self.shape.gpus

    @property
    def is_resumable(self) -> bool:
        """Whether it has shown that its work survives a restart."""
        return self.job.checkpoint_every_s is not None or self.checkpoint_at is not None

    def ran_s(self, now: float) -> float:
        return self.job.ran_s + max(0.0, now - self.since)

    def lost_s(self, now: float) -> float:
        """The run time that a restart would cost."""
        job = self.job
        every = job.checkpoint_every_s
        if every == 0.0:
            return job.restart_s
        ran = max(0.0, now - self.since)
        if every is not None:
            return job.restart_s + ran % every
        if self.checkpoint_at is not None:
            return job.restart_s + max(0.0, now - max(self.checkpoint_at, self.since))
        return job.restart_s + ran

    def lost_work(self, now: float) -> float:
        gpus = self.shape.gpus
        return self.lost_s(now) * (gpus if gpus > 1.0 else 1.0)

    def effective_rank(self) -> float:
        """Priority and rank as one number: among running jobs the greatest is preempted first."""
        if self.is_grown:
            return -self.priority * PRIORITY_STEP + PRIORITY_STEP - 1.0
        # `is_resumable`, written out because nothing is asked more often than this rank
        is_resumable = self.job.checkpoint_every_s is not None or self.checkpoint_at is not None
        return -self.priority * PRIORITY_STEP + (self.rank if is_resumable else -1.0)


def effective_rank_of_waiting(priority: float, rank: float, interrupts: bool) -> float:
    """A waiting job may preempt jobs whose effective rank is greater than this."""
    return -priority * PRIORITY_STEP + (rank if interrupts else PRIORITY_STEP - 2.0)


def order_of(allocation: Allocation) -> tuple[float, float, float, str]:
    return -allocation.priority, allocation.rank, allocation.job.created_at, allocation.job.job_id


def slots_on_nodes(allocation: Allocation) -> tuple[Slot, ...]:
    return allocation.slots


def slots_in_cells(allocation: Allocation) -> tuple[Slot, ...]:
    return allocation.guaranteed or ()


def may_be_preempted(allocation: Allocation) -> bool:
    return allocation.job.preemptible and allocation.blocked_by is None and allocation.guaranteed is None


def may_lose_guarantee(allocation: Allocation) -> bool:
    return allocation.job.preemptible and allocation.blocked_by is None and allocation.guaranteed is not None
