"""Carries out preemptions: the gang is stopped like any other, and is back in the queue at once.

Another job waits for the allocation of the preempted one. So a preemption that cannot be written is tried again until
it is written, or until the attempt ends for another reason.
"""

from dataclasses import replace
from functools import partial

import structlog

from muster.domain.errors import StaleWrite, Unavailable
from muster.domain.jobs import HOLDING, Outcome, Queued, Running, Starting, Verdict
from muster.engine.context import Context
from muster.engine.lifecycle.completion import RETRY_S, stop
from muster.engine.lifecycle.dependencies import queue
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.plan import Preemption

_log = structlog.get_logger("engine.preempting")
RESIZE = "resize"
"""The code of the reason when an elastic gang is restarted at another size."""


def begin_preempting(context: Context, cluster: ClusterState, preemption: Preemption) -> None:
    """Preempt the attempt that has an allocation now, or is about to start with one."""
    entry = context.open_jobs.get(preemption.job_id)
    attempt = 1 if entry is None else entry.job.attempt + (not isinstance(entry.job.state, HOLDING))
    work = preempt(context, cluster, preemption, attempt)
    context.spawn(work, f"preempt {preemption.job_id}")


async def preempt(context: Context, cluster: ClusterState, preemption: Preemption, attempt: int) -> None:
    entry = context.open_jobs.get(preemption.job_id)
    if entry is None:
        if preemption.job_id in cluster.allocations.preempted:  # it is being submitted together with its start
            _later(context, cluster, preemption, attempt)
        return
    async with entry.lock:
        job = entry.job
        if isinstance(job.state, Queued) and job.attempt == attempt - 1:
            cluster.released(job.id)  # it was preempted before its start began
            queue(context, entry)
        if job.attempt != attempt or not isinstance(job.state, Starting | Running):
            return  # it frees its allocation anyway, or has freed it
        if preemption.reason.code != RESIZE:
            job = replace(job, preemptions=job.preemptions + 1)
        try:
            await stop(context, entry, Verdict(Outcome.PREEMPT, preemption.reason.message), job=job)
        except (Unavailable, StaleWrite) as error:
            _log.warning("preemption not written, will try again", job=job.id, error=str(error))
            _later(context, cluster, preemption, attempt)


def _later(context: Context, cluster: ClusterState, preemption: Preemption, attempt: int) -> None:
    again = partial(preempt, context, cluster, preemption, attempt)
    context.later(RETRY_S, again, f"preempt {preemption.job_id}")
