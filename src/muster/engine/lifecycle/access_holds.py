"""Holds waiting jobs whose owners may no longer use their clusters, and lets them wait again when the owners may.

Access changes with cluster files, and with the groups of users. Running jobs continue. Such a hold is by nobody: one
that a user or an admin asked for is not ended here.
"""

from functools import partial

import structlog

from muster.domain.errors import MusterError
from muster.domain.jobs import Held, Job, JobState, Queued, move
from muster.engine.cluster_access import lost_access
from muster.engine.context import Context
from muster.engine.lifecycle.dependencies import queue
from muster.engine.state.event_builders import job_event
from muster.engine.state.open_jobs import Entry
from muster.ports.store import Change

_log = structlog.get_logger("engine.access")
_RETRY_S = 2.0


async def check_access(context: Context) -> None:
    """Check all waiting jobs, after something has changed that decides who may use which cluster."""
    if context.is_held:
        return  # it is checked when the server acts again
    for entry in context.open_jobs.entries():
        if isinstance(entry.job.state, Queued) or is_held_for_access(entry.job):
            await _check(context, entry)


def is_held_for_access(job: Job) -> bool:
    return isinstance(job.state, Held) and job.state.by is None


async def hold_without_access(context: Context, entry: Entry) -> bool:
    """Hold a waiting job whose owner may not use its cluster. Returns whether it was held. The caller has its lock."""
    why = await lost_access(context, entry.job)
    if why is None:
        return False
    _log.info("job is held", job=entry.job.id, why=why)
    await _move(context, entry, Held(context.clock()), why)
    if cluster := context.clusters.get(entry.job.cluster):
        cluster.unqueued(entry.job.id)
        cluster.released(entry.job.id)  # a cycle may have planned it meanwhile
    return True


async def _check(context: Context, entry: Entry) -> None:
    async with entry.lock:
        try:
            if isinstance(entry.job.state, Queued):
                await hold_without_access(context, entry)
            elif is_held_for_access(entry.job):
                await _let_go(context, entry)
        except MusterError as error:
            _log.warning("access not checked, will try again", job=entry.job.id, error=str(error))
            context.later(_RETRY_S, partial(_check, context, entry), f"access {entry.job.id}")


async def _let_go(context: Context, entry: Entry) -> None:
    if entry.job.cluster not in context.clusters or await lost_access(context, entry.job) is not None:
        return
    await _move(context, entry, Queued(context.clock()), "")
    queue(context, entry)


async def _move(context: Context, entry: Entry, state: JobState, reason: str) -> None:
    job = move(entry.job, state, reason=reason)
    await context.apply(Change(job=job, events=[job_event(job, context.clock())]))
    entry.job = job
    context.wake.set()
