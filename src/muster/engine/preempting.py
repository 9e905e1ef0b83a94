"""Gangs that have to leave their places: stopped like any other, and back in the queue at once.

A plan that preempts waits for the places. So a preemption that cannot be written is tried again until it is, or until
the attempt ends for another reason.
"""

from dataclasses import replace

import structlog

from muster.domain.errors import StaleWrite, Unavailable
from muster.domain.jobs import HOLDING, Outcome, Running, Starting, Verdict
from muster.domain.reasons import Reason
from muster.engine.context import Context
from muster.engine.settling import RETRY_S, stop
from muster.scheduling.demand import Preemption

_log = structlog.get_logger("engine.preempting")
RESIZE = "resize"
"""The reason's code when an elastic gang makes way for itself at another size."""


def begin_preempting(context: Context, preemption: Preemption) -> None:
    """Of the attempt that has the places now, or is about to start on them."""
    entry = context.roster.get(preemption.job_id)
    if entry is None:
        return
    attempt = entry.job.attempt + (not isinstance(entry.job.state, HOLDING))
    work = preempt(context, preemption.job_id, attempt, preemption.reason)
    context.spawn(work, f"preempt {preemption.job_id}")


async def preempt(context: Context, job_id: str, attempt: int, reason: Reason) -> None:
    entry = context.roster.get(job_id)
    if entry is None:
        return
    async with entry.turn:
        job = entry.job
        if job.attempt != attempt or not isinstance(job.state, Starting | Running):
            return  # it leaves its places anyhow, or has left them
        if reason.code != RESIZE:
            job = replace(job, preemptions=job.preemptions + 1)
        try:
            await stop(context, entry, Verdict(Outcome.PREEMPT, reason.message), job=job)
        except (Unavailable, StaleWrite) as error:
            _log.warning("preemption not written, will try again", job=job_id, error=str(error))
            context.later(RETRY_S, lambda: preempt(context, job_id, attempt, reason), f"preempt {job_id}")
