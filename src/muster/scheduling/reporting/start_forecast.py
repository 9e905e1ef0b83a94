"""A look ahead: the cluster's state itself, run on in virtual time, once with the usual run times of similar jobs and
once with the longest ones. Nothing is guessed: a job of which nothing is known never ends here, so that an estimate
does not slide on while people wait behind such a job.
"""

import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf
from typing import Protocol

from muster.domain.schedule import ExpectedStart
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.usage_views import StartForecast
from muster.scheduling.demand import JobDemand, gpus_of
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.scheduling.plan import Plan

_STEPS = 2000
"""How many ends are simulated before the answer is given up."""
_FEW_STEPS = 500
"""The same for the next starts of all jobs, of which only the first few are asked for."""


class Copy(Protocol):
    """A copy of a cluster's state, which the look ahead uses up."""

    predictor: Predictor
    allocations: Allocations

    def cycle(self, now: float) -> Plan: ...

    def released(self, job_id: str) -> None: ...


_RunTime = Callable[[Predictor, JobDemand, float], float]
"""How long a job takes in all that has run so long already; infinite if that is not known."""


def start_forecast(state: Copy, job_id: str, now: float, plan: Plan | None = None) -> StartForecast | None:
    """About when the job starts, or None if that is not known. `plan` is the plan for now, if there is one already."""
    other = deepcopy(state)
    likely = _first_start(state, job_id, now, plan, _usual_run_time)
    if likely is None:
        return None
    latest = _first_start(other, job_id, now, plan, _longest_run_time)
    return StartForecast(likely, None if latest is None else max(likely, latest))


def expected_starts(snapshot: bytes, now: float, most: int) -> list[ExpectedStart]:
    """The next starts of waiting jobs, at most so many, if nothing new comes and jobs run as long as is usual.
    `snapshot` is that of a cluster's state."""
    state: Copy = pickle.loads(snapshot)  # noqa: S301 - this very process has made it
    return list(islice(_starts(state, now, None, _usual_run_time, _FEW_STEPS), most))


def _first_start(state: Copy, job_id: str, now: float, plan: Plan | None, run_time: _RunTime) -> float | None:
    starts = _starts(state, now, plan, run_time, _STEPS)
    return next((start.at for start in starts if start.job_id == job_id), None)


def _starts(state: Copy, now: float, plan: Plan | None, run_time: _RunTime, steps: int) -> Iterator[ExpectedStart]:
    """Runs the state on in virtual time, and yields the starts as they come."""
    by_job = state.allocations.by_job
    running = (allocation for allocation in by_job.values() if not allocation.blocked_by)
    ends = [(_end(allocation, state.predictor, now, run_time), allocation.job.job_id) for allocation in running]
    heapify(ends)
    at = now
    plan = plan if plan is not None else state.cycle(at)
    for _ in range(steps):
        for start in plan.starts:
            allocation = by_job.get(start.job_id)
            end = inf if allocation is None else _end(allocation, state.predictor, at, run_time)
            if allocation is not None:
                heappush(ends, (end, start.job_id))
            nodes = tuple(dict.fromkeys(slot.node for slot in start.slots))
            yield ExpectedStart(start.job_id, at, None if end == inf else end, nodes)
        for other in list(state.allocations.preempted):
            state.released(other)
        if not plan.preemptions and not plan.starts:
            if not ends or ends[0][0] == inf:
                return
            at, other = heappop(ends)
            state.released(other)
        plan = state.cycle(at)


def _end(allocation: Allocation, predictor: Predictor, now: float, run_time: _RunTime) -> float:
    """When a job ends. None runs beyond its time limit."""
    ran_s = allocation.ran_s(now)
    end = now + run_time(predictor, allocation.job, ran_s) - ran_s
    if allocation.job.time_limit_s is not None:
        end = min(end, max(now, allocation.since + allocation.job.time_limit_s))
    return end


def _usual_run_time(predictor: Predictor, job: JobDemand, ran_s: float) -> float:
    """The middle of what similar jobs took. One that has run longer takes as long as nearly all of them did."""
    return next((known_s for known_s in _known_run_times(predictor, job) if known_s > ran_s), inf)


def _known_run_times(predictor: Predictor, job: JobDemand) -> Iterator[float]:
    if job.predicted_s is not None:
        yield job.predicted_s
    for service in (predictor.median(job.similarity), predictor.ninth_decile(job.similarity)):
        if service is not None:
            yield service / gpus_of(job)


def _longest_run_time(predictor: Predictor, job: JobDemand, ran_s: float) -> float:
    service = predictor.ninth_decile(job.similarity)
    known_s = inf if service is None else service / gpus_of(job)
    return known_s if job.time_limit_s is None and known_s > ran_s else inf
