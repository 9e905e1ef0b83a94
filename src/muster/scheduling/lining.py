"""The queue in time: where a job stands in it, when patience runs out, and when ranks of running jobs change."""

from heapq import heappop
from math import inf

from muster.domain.virtual_clusters import Limits
from muster.scheduling.books import Books, gpus_of
from muster.scheduling.demand import JobDemand
from muster.scheduling.preempting import need_of
from muster.scheduling.queueing import Kind, Lane, Waiting
from muster.scheduling.ranking import Overtaking, Policy

TOP_PRIORITY = 4
"""Above urgent: who has waited so long that everybody else stands back."""
_NO_LIMITS = Limits()


class Line(Books):
    def _pass(self, now: float) -> None:
        """Whatever was to happen by now: jobs become due, patience runs out, ranks of running jobs change."""
        timers = self._timers
        while timers and timers[0][0] <= now:
            at, _, what, job_id = heappop(timers)
            if what == "due":
                self._become_due(job_id, now)
            elif what == "patience":
                self._lose_patience(job_id, at)
            elif what == "rank":
                self._rank_anew(job_id, at)
            elif what == "turn":
                self._end_turn(job_id, at)
            else:
                self._stirred.update(self.vcs)
                self._changed = True

    def _become_due(self, job_id: str, now: float) -> None:
        job = self.parked.get(job_id)
        if job is not None and job.blocked is None and job.not_before is not None and job.not_before <= now:
            del self.parked[job_id]
            self._enter(job)
            self._changed = True

    def _lose_patience(self, job_id: str, at: float) -> None:
        waiting = self.queue.jobs.get(job_id)
        if waiting is None or waiting.priority >= TOP_PRIORITY:
            return
        policy = self._policy_of(waiting.job.vc)
        patience_s = self._patience_s(waiting.job, policy)
        due = waiting.since + patience_s * (waiting.priority + 1 - waiting.job.priority)
        if due > at + 1e-3:  # a timer of an earlier wait, or such jobs turned out to run longer
            self._timer(due, "patience", job_id)
            return
        self.queue.remove(job_id)
        is_last = waiting.priority + 1 == TOP_PRIORITY  # from there on rank is nothing, and the longest wait is next
        self._stand(waiting.job, waiting.since, waiting.priority + 1, 0.0 if is_last else waiting.rank)
        self._changed = True

    def _rank_anew(self, job_id: str, at: float) -> None:
        holder = self.holders.get(job_id)
        if holder is None or holder.rank_at > at:
            return
        policy = self._policy_of(holder.job.vc)
        ran_s = holder.ran_s(at)
        rank = policy.ranker.rank(holder.job, holder.gpus, ran_s)
        if rank != holder.rank:
            holder.rank = rank
            self._touch(holder)
            if self.queue.jobs:
                self._stirred.add(holder.job.vc)
                self._changed = True
        self._next_rank(holder, policy, ran_s, at)

    def _end_turn(self, job_id: str, at: float) -> None:
        holder = self.holders.get(job_id)
        if holder is not None and holder.protected_until <= at:
            holder.priority = holder.job.priority
            ranker = self._policy_of(holder.job.vc).ranker
            holder.rank = ranker.rank(holder.job, holder.gpus, holder.ran_s(at))
            self._touch(holder)
            self._stirred.add(holder.job.vc)
            self._changed = True

    def _enter(self, job: JobDemand) -> None:
        policy = self._policy_of(job.vc)
        rank = max(policy.ranker.rank(job, gpus_of(job), job.ran_s), self._sent_away.pop(job.job_id, -inf))
        since = job.created_at if job.waiting_since is None else job.waiting_since
        self._stand(job, since, job.priority, rank)

    def _stand(self, job: JobDemand, since: float, priority: int, rank: float) -> None:
        policy = self._policy_of(job.vc)
        self._stirred.add(job.vc)
        shape = self._shapes.of(job)
        self._needs.add(need_of(shape))
        key = (-priority, rank, job.created_at if priority < TOP_PRIORITY else since, job.job_id)
        waiting = Waiting(job, shape, since, priority, rank, key, ("", 0, "", 0), self.cycles)
        vc = self.vcs.get(job.vc)
        has_own_lane = policy.by_usage or (vc is not None and vc.user_limits != _NO_LIMITS)
        kind = _kind(policy, is_special=priority >= TOP_PRIORITY or bool(job.elastic))
        self.queue.add(waiting, job.user if has_own_lane else "", kind)
        if policy.patience_s < inf and priority < TOP_PRIORITY:
            self._timer(since + self._patience_s(job, policy) * (priority + 1 - job.priority), "patience", job.job_id)

    def _patience_s(self, job: JobDemand, policy: Policy) -> float:
        return policy.patience_s + policy.patience_runs * self.predictor.run_time(job.likeness, gpus_of(job))

    def _stand_again(self, waiting: Waiting) -> None:
        """As before; the next cycle looks at it anew."""
        self._stand(waiting.job, waiting.since, waiting.priority, waiting.rank)
        self._changed = True

    def _usage(self, lane: Lane) -> float:
        return self.accounts.of(lane.vc, lane.user).usage(self._latest)


def _kind(policy: Policy, *, is_special: bool) -> Kind:
    if is_special or policy.overtaking is not Overtaking.FREE:
        return Kind.ALWAYS
    if policy.by_usage:
        return Kind.BY_USAGE
    return Kind.INTERRUPTING if policy.interrupts else Kind.PATIENT
