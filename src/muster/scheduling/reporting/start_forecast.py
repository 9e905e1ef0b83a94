"""A look ahead: the cluster's state itself, run on in virtual time with the run times of similar jobs."""

from heapq import heapify, heappop, heappush
from typing import Protocol

from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.demand import JobDemand, gpus_of
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.scheduling.plan import Plan

_STEPS = 2000
"""How many ends are simulated before the answer is given up."""


class Copy(Protocol):
    """A copy of a cluster's state, which the look ahead uses up."""

    predictor: Predictor
    allocations: Allocations

    def cycle(self, now: float) -> Plan: ...

    def released(self, job_id: str) -> None: ...


def first_start(state: Copy, job_id: str, now: float, plan: Plan | None = None) -> float | None:
    """About when the job starts, or None if that cannot be said."""
    by_job = state.allocations.by_job
    running = (allocation for allocation in by_job.values() if not allocation.blocked_by)
    ends = [(_end(allocation, state.predictor, now), allocation.job.job_id) for allocation in running]
    heapify(ends)
    at = now
    plan = plan if plan is not None else state.cycle(at)
    for _ in range(_STEPS):
        for start in plan.starts:
            if start.job_id == job_id:
                return at
            allocation = by_job.get(start.job_id)
            if allocation is not None:
                heappush(ends, (_end(allocation, state.predictor, at), start.job_id))
        for other in list(state.allocations.preempted):
            state.released(other)
        if not plan.preemptions and not plan.starts:
            if not ends:
                return None
            at, other = heappop(ends)
            state.released(other)
        plan = state.cycle(at)
    return None


def _end(allocation: Allocation, predictor: Predictor, now: float) -> float:
    """When a job ends if it takes as long as similar jobs do in the middle; one that has run longer already is given as
    long again; none runs beyond its time limit."""
    ran_s = allocation.ran_s(now)
    total_s = _run_time(allocation.job, predictor)
    left_s = total_s - ran_s if total_s is not None and total_s > ran_s else max(ran_s, 60.0)
    end = now + left_s
    if allocation.job.time_limit_s is not None:
        end = min(end, max(now, allocation.since + allocation.job.time_limit_s))
    return end


def _run_time(job: JobDemand, predictor: Predictor) -> float | None:
    if job.predicted_s is not None:
        return job.predicted_s
    median = predictor.median(job.similarity)
    return job.time_limit_s if median is None else median / gpus_of(job)
