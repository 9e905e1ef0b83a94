"""What a job would meet if it were in the queue: why it would wait, about when it would start, and where."""

import pickle
from typing import Protocol

from muster.domain.reasons import Reason
from muster.scheduling.allocations.usage_views import StartForecast, WhatIf
from muster.scheduling.demand import JobDemand
from muster.scheduling.reporting import start_forecast


class Copy(start_forecast.Copy, Protocol):
    """A copy of a cluster's state, which the answer uses up."""

    def queued(self, job: JobDemand) -> None: ...

    def reasons(self, job_id: str, now: float) -> tuple[Reason, ...]: ...


def suppose(state: Copy, job: JobDemand, now: float) -> WhatIf:
    state.queued(job)
    plan = state.cycle(now)
    for start in plan.starts:
        if start.job_id == job.job_id:
            return WhatIf((), StartForecast(now, now), start.slots)
    reasons = state.reasons(job.job_id, now)
    return WhatIf(reasons, start_forecast.start_forecast(state, job.job_id, now, plan))


def suppose_on(snapshot: bytes, job: JobDemand, now: float) -> WhatIf:
    """The same on the snapshot of a cluster's state, which may be on another thread."""
    state: Copy = pickle.loads(snapshot)  # noqa: S301 - this very process has made it
    return suppose(state, job, now)
