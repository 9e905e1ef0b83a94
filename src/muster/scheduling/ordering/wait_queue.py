"""Who waits: jobs that may start, in their order, and jobs that may not start yet. A job that waits long ages, which
means that it counts as one priority higher. This part decides who is next, never who starts."""

from math import inf

from muster.scheduling.capacity.shapes import Shape, Shapes
from muster.scheduling.changes import Changes
from muster.scheduling.demand import JobDemand
from muster.scheduling.ordering.lanes import Kind, Lanes, WaitingJob
from muster.scheduling.ordering.order_policies import Overtaking, Policy
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.timers import Timer, Timers

TOP_PRIORITY = 4
"""The priority above urgent, of a job that has waited so long that everybody else has to wait for it."""


class WaitQueue:
    def __init__(
        self, settings: VcSettings, predictor: Predictor, shapes: Shapes, timers: Timers, changes: Changes
    ) -> None:
        self.lanes = Lanes()
        """Jobs that start as soon as there is room."""
        self.parked: dict[str, JobDemand] = {}
        """Jobs that may not start yet: they wait for another job, or for a moment."""
        self.needs: set[int] = set()
        """The numbers of GPUs on one node that any job ever asked for."""
        self._settings = settings
        self._predictor = predictor
        self._shapes = shapes
        self._timers = timers
        self._changes = changes
        self._preempted_at: dict[str, float] = {}
        """The rank at which a job was preempted: it comes back with no better one."""

    def __len__(self) -> int:
        return len(self.lanes.jobs)

    def add(self, job: JobDemand) -> None:
        self._changes.mark()
        if job.blocked is None and job.not_before is None:
            self._enter(job)
            return
        self.parked[job.job_id] = job
        if job.blocked is None and job.not_before is not None:
            self._timers.add(job.not_before, Timer.DUE, job.job_id)

    def remove(self, job_id: str) -> None:
        self.parked.pop(job_id, None)
        if self.lanes.remove(job_id) is not None:
            self._changes.mark()

    def put_back(self, waiting: WaitingJob) -> None:
        """A job whose start was planned waits again, as before."""
        self._line_up(waiting.job, waiting.shape, waiting.since, waiting.priority, waiting.rank)
        self._changes.mark()

    def note_preempted(self, job_id: str, rank: float) -> None:
        """The job keeps this rank when it comes back, so that it cannot preempt in return."""
        self._preempted_at[job_id] = rank

    def rank_anew(self) -> None:
        """The settings of virtual clusters have changed."""
        for waiting in list(self.lanes.jobs.values()):
            self.lanes.remove(waiting.job.job_id)
            self._enter(waiting.job)

    def become_due(self, job_id: str, now: float) -> None:
        job = self.parked.get(job_id)
        if job is not None and job.blocked is None and job.not_before is not None and job.not_before <= now:
            del self.parked[job_id]
            self._enter(job)
            self._changes.mark()

    def age(self, job_id: str, at: float) -> None:
        """Let the job count as one priority higher, if it has waited long enough."""
        waiting = self.lanes.jobs.get(job_id)
        if waiting is None or waiting.priority >= TOP_PRIORITY:
            return
        aging_s = self._aging_s(waiting.job, waiting.shape, self._settings.policy_of(waiting.job.vc))
        due = waiting.since + aging_s * (waiting.priority + 1 - waiting.job.priority)
        if due > at + 1e-3:  # the timer belongs to an earlier wait, or such jobs turned out to run longer
            self._timers.add(due, Timer.AGING, job_id)
            return
        self.lanes.remove(job_id)
        is_last = waiting.priority + 1 == TOP_PRIORITY  # there the rank no longer counts, and the longest wait is next
        rank = 0.0 if is_last else waiting.rank
        self._line_up(waiting.job, waiting.shape, waiting.since, waiting.priority + 1, rank)
        self._changes.mark()

    def _enter(self, job: JobDemand) -> None:
        ranker = self._settings.policy_of(job.vc).ranker
        shape = self._shapes.of(job)
        rank = max(ranker.rank(job, shape.gpus, job.ran_s), self._preempted_at.pop(job.job_id, -inf))
        since = job.created_at if job.waiting_since is None else job.waiting_since
        self._line_up(job, shape, since, job.priority, rank)

    def _line_up(self, job: JobDemand, shape: Shape, since: float, priority: int, rank: float) -> None:
        policy = self._settings.policy_of(job.vc)
        self.needs.add(shape.need)
        key = (-priority, rank, job.created_at if priority < TOP_PRIORITY else since, job.job_id)
        waiting = WaitingJob(job, shape, since, priority, rank, key, ("", 0, "", 0), self._changes.cycles)
        has_own_lane = policy.by_usage or self._settings.limits_users(job.vc)
        kind = _kind(policy, is_special=priority >= TOP_PRIORITY or bool(job.elastic))
        if self.lanes.add(waiting, job.user if has_own_lane else "", kind):
            self._changes.mark_vc(job.vc)  # only the next job of a lane is ever looked at
        if policy.aging_s < inf and priority < TOP_PRIORITY:
            at = since + self._aging_s(job, shape, policy) * (priority + 1 - job.priority)
            self._timers.add(at, Timer.AGING, job.job_id)

    def _aging_s(self, job: JobDemand, shape: Shape, policy: Policy) -> float:
        return policy.aging_s + policy.aging_runs * self._predictor.run_time(job.similarity, shape.gpus)


def _kind(policy: Policy, *, is_special: bool) -> Kind:
    if is_special or policy.overtaking is not Overtaking.FREE:
        return Kind.ALWAYS
    if policy.by_usage:
        return Kind.BY_USAGE
    return Kind.INTERRUPTING if policy.interrupts else Kind.PATIENT
