"""A look ahead: the planner itself, run on in virtual time with run times as they were for jobs like these."""

from heapq import heapify, heappop, heappush

from muster.scheduling.books import gpus_of
from muster.scheduling.demand import JobDemand, Plan
from muster.scheduling.holding import Holder
from muster.scheduling.planning import Planner

_STEPS = 2000
"""So many ends are lived through before the answer is given up."""


def first_start(planner: Planner, job_id: str, now: float, plan: Plan | None = None) -> float | None:
    """About when the job starts, or None if that cannot be told. The planner is used up by this."""
    ends = [(_end(planner, holder, now), other) for other, holder in planner.holders.items() if not holder.waits_for]
    heapify(ends)
    at = now
    plan = plan if plan is not None else planner.cycle(at)
    for _ in range(_STEPS):
        for start in plan.starts:
            if start.job_id == job_id:
                return at
            holder = planner.holders.get(start.job_id)
            if holder is not None:
                heappush(ends, (_end(planner, holder, at), start.job_id))
        for left in plan.preemptions:
            planner.released(left.job_id)
        for other in list(planner.leaving):
            planner.released(other)
        if not plan.preemptions and not plan.starts:
            if not ends:
                return None
            at, other = heappop(ends)
            planner.released(other)
        plan = planner.cycle(at)
    return None


def _end(planner: Planner, holder: Holder, now: float) -> float:
    """As long as such jobs take in the middle; one that has outlived them, as long again; never beyond its limit."""
    ran_s = holder.ran_s(now)
    total_s = _run_time(planner, holder.job)
    left_s = total_s - ran_s if total_s is not None and total_s > ran_s else max(ran_s, 60.0)
    end = now + left_s
    if holder.job.time_limit_s is not None:
        end = min(end, max(now, holder.since + holder.job.time_limit_s))
    return end


def _run_time(planner: Planner, job: JobDemand) -> float | None:
    if job.predicted_s is not None:
        return job.predicted_s
    median = planner.predictor.median(job.likeness)
    return job.time_limit_s if median is None else median / gpus_of(job)
