"""The ranks of running jobs, which change with the service they get, and the protection of those that waited long."""

from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.changes import Changes
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.timers import Timer, Timers

PROTECTED_S = 3600.0
"""The time for which a job that had aged keeps the priority that it aged to."""


class RunningRanks:
    def __init__(self, settings: VcSettings, timers: Timers, changes: Changes) -> None:
        self._settings = settings
        self._timers = timers
        self._changes = changes

    def began(self, allocation: Allocation) -> None:
        self._wait_for_change(allocation, allocation.job.ran_s, allocation.since)
        if allocation.priority > allocation.job.priority:
            allocation.protected_until = allocation.since + PROTECTED_S
            self._timers.add(allocation.protected_until, Timer.PROTECTION, allocation.job.job_id)

    def became_resumable(self, allocation: Allocation, at: float) -> None:
        self._wait_for_change(allocation, allocation.ran_s(at), at)

    def update(self, allocation: Allocation, at: float) -> bool:
        """The timer of its rank has run out. Returns whether the rank is another now."""
        if allocation.rank_at > at:
            return False
        before = allocation.rank
        ran_s = allocation.ran_s(at)
        allocation.rank = self._rank(allocation, at)
        self._wait_for_change(allocation, ran_s, at)
        return allocation.rank != before

    def refresh(self, allocation: Allocation, now: float) -> None:
        """Bring the rank up to date, under a policy by which it sinks all the time."""
        allocation.rank = self._rank(allocation, now)

    def end_protection(self, allocation: Allocation, at: float) -> bool:
        """Returns whether its protection has ended."""
        if allocation.protected_until > at:
            return False
        allocation.priority = allocation.job.priority
        allocation.rank = self._rank(allocation, at)
        self._changes.mark_vc(allocation.job.vc)
        self._changes.mark()
        return True

    def _rank(self, allocation: Allocation, at: float) -> float:
        ranker = self._settings.policy_of(allocation.job.vc).ranker
        return ranker.rank(allocation.job, allocation.gpus, allocation.ran_s(at))

    def _wait_for_change(self, allocation: Allocation, ran_s: float, now: float) -> None:
        policy = self._settings.policy_of(allocation.job.vc)
        if policy.interrupts and allocation.is_resumable:
            change = policy.ranker.changes_in(allocation.job, allocation.gpus, ran_s)
            if change is not None:
                allocation.rank_at = now + change
                self._timers.add(allocation.rank_at, Timer.RANK, allocation.job.job_id)
