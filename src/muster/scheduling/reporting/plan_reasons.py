"""Why jobs wait, worked out from what the latest cycle left behind, when somebody asks."""

from collections.abc import Iterator, Mapping

from muster.domain.reasons import Reason
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.reservations import Reservations
from muster.scheduling.capacity.shortage import short
from muster.scheduling.changes import Changes
from muster.scheduling.ordering.lanes import LaneKey, WaitingJob
from muster.scheduling.ordering.wait_queue import WaitQueue
from muster.scheduling.reporting import wait_reasons


class PlanReasons(Mapping[str, Reason]):
    """The reason that matters most, for each job id. It changes nothing."""

    def __init__(
        self,
        queue: WaitQueue,
        allocations: Allocations,
        reservations: Reservations,
        changes: Changes,
        verdicts: Mapping[LaneKey, Reason | None],
    ) -> None:
        self.now = 0.0
        """The time of the latest cycle."""
        self._queue = queue
        self._allocations = allocations
        self._reservations = reservations
        self._changes = changes
        self._verdicts = verdicts

    def __getitem__(self, job_id: str) -> Reason:
        for reason in self.of(job_id, self.now):
            return reason
        raise KeyError(job_id)

    def __iter__(self) -> Iterator[str]:
        waiting = (*self._queue.parked, *self._allocations.by_job, *self._queue.lanes.jobs)
        return (job_id for job_id in waiting if self.of(job_id, self.now))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, job_id: str, now: float) -> tuple[Reason, ...]:
        """All reasons of one job, what matters most first. None if no cycle has looked at it yet."""
        parked = self._queue.parked.get(job_id)
        if parked is not None:
            if parked.blocked is not None:
                return (parked.blocked,)
            return (wait_reasons.backing_off(max(0.0, (parked.not_before or now) - now)),)
        allocation = self._allocations.by_job.get(job_id)
        if allocation is not None and allocation.blocked_by:
            leaving = [self._allocations.preempted[other].job for other in sorted(allocation.blocked_by)]
            return (wait_reasons.slots_occupied([job.name_for(allocation.job.user) for job in leaving]),)
        waiting = self._queue.lanes.jobs.get(job_id)
        if waiting is None or waiting.cycle == self._changes.cycles:
            return ()
        return tuple(self._of_waiting(waiting))

    def _of_waiting(self, waiting: WaitingJob) -> Iterator[Reason]:
        verdict = self._verdicts.get(waiting.lane)
        yield verdict if verdict is not None else short(waiting.shape, self._allocations.nodes)
        reservation = self._reservations.current
        if reservation is not None and reservation.job.job_id != waiting.job.job_id:
            yield wait_reasons.reserved(reservation.job.name_for(waiting.job.user), reservation.at)
        lanes = self._queue.lanes
        ahead = lanes.ahead_of(waiting)
        if ahead:
            first = min(lane.head for lane in lanes.lanes_of(waiting.job.vc))
            yield wait_reasons.behind(lanes.jobs[first[3]].job.name_for(waiting.job.user), ahead)
