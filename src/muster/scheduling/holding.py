"""Who has places, what it would cost to take them away, and whom that may be done to."""

from dataclasses import dataclass

from muster.domain.virtual_clusters import Share
from muster.scheduling.demand import JobDemand, Slot
from muster.scheduling.queueing import Waiting
from muster.scheduling.shapes import Shape

BY_PRIORITY = 1000.0
"""Farther apart than any two ranks: a lower priority stands behind whatever its rank."""


@dataclass(slots=True, eq=False)
class Holder:
    job: JobDemand
    shape: Shape
    slots: tuple[Slot, ...]
    since: float
    priority: int
    use: Share
    """What its places come to, by model."""
    rank: float = 0.0
    checkpoint_at: float | None = None
    promised: tuple[Slot, ...] | None = None
    """Its places in what its virtual cluster is promised; None for one that borrows. Mostly where it stands; if not,
    it may have to move there."""
    is_grown: bool = False
    """An elastic gang with more tasks than it asked for: it shrinks for anybody."""
    rank_at: float = 0.0
    """When its rank may be another."""
    protected_until: float = 0.0
    """It waited long: until then only a guarantee moves it."""
    waits_for: set[str] | None = None
    """Jobs that are still leaving its places."""
    waited: Waiting | None = None
    """As it stood in the queue, until its start is told: it may still go back there."""

    @property
    def gpus(self) -> float:
        return self.shape.gpus

    @property
    def is_resumable(self) -> bool:
        """It has shown that its work outlives a restart."""
        return self.job.checkpoint_every_s is not None or self.checkpoint_at is not None

    def ran_s(self, now: float) -> float:
        return self.job.ran_s + max(0.0, now - self.since)

    def lost_s(self, now: float) -> float:
        """Run time that a restart would cost."""
        ran = max(0.0, now - self.since)
        every = self.job.checkpoint_every_s
        if every is not None:
            return self.job.restart_s + (ran % every if every else 0.0)
        if self.checkpoint_at is not None:
            return self.job.restart_s + max(0.0, now - max(self.checkpoint_at, self.since))
        return self.job.restart_s + ran

    def lost_work(self, now: float) -> float:
        return self.lost_s(now) * max(self.gpus, 1.0)

    def standing(self) -> float:
        """Among those who have places: the largest leaves first."""
        if self.is_grown:
            return -self.priority * BY_PRIORITY + BY_PRIORITY - 1.0
        return -self.priority * BY_PRIORITY + (self.rank if self.is_resumable else -1.0)


def standing_of_waiting(priority: float, rank: float, interrupts: bool) -> float:
    """A waiting job may take the places of those who stand strictly behind this."""
    return -priority * BY_PRIORITY + (rank if interrupts else BY_PRIORITY - 2.0)
