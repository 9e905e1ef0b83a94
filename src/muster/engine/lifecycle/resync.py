"""Brings memory in line with the store after a write that was not confirmed, or was refused as stale.

A database that dies during a commit leaves the outcome open: the job may be stored and not in memory, or be further
than memory says. Nothing is guessed. Once the store answers again the job is read, and reconciliation continues from
there.
"""

import asyncio

import structlog

from muster.domain.errors import MusterError, NotFound
from muster.domain.jobs import HOLDING
from muster.engine.context import Context
from muster.engine.lifecycle.completion import RETRY_S
from muster.engine.lifecycle.dependencies import recheck_dependents
from muster.engine.lifecycle.reconciling import place, reconcile
from muster.engine.state.open_jobs import Entry

_log = structlog.get_logger("engine.resync")


async def run_resync(context: Context) -> None:
    while True:
        job_id = await context.unconfirmed_jobs.get()
        try:
            await resync(context, job_id)
        except MusterError as error:
            _log.warning("job not read from the store, will try again", job=job_id, error=str(error))
            await asyncio.sleep(RETRY_S)
            context.unconfirmed_jobs.put_nowait(job_id)


async def resync(context: Context, job_id: str) -> None:
    """Update the job in memory from the store. Nothing happens if they agree."""
    entry = context.open_jobs.get(job_id)
    if entry is None:
        await _discover(context, job_id)
        return
    async with entry.lock:
        job = await context.store.job(job_id)
        if job.version <= entry.job.version:
            return
        entry.job, entry.tasks = job, {task.id: task for task in await context.store.tasks(job_id, job.attempt)}
        _place(context, entry)
    await _reconcile(context, entry)


async def _discover(context: Context, job_id: str) -> None:
    """Add a job that was stored although its submission was answered with an error."""
    try:
        job = await context.store.job(job_id)
    except NotFound:
        return
    tasks = await context.store.tasks(job_id, job.attempt)
    if job.is_final or context.open_jobs.get(job_id) is not None:
        return
    entry = context.open_jobs.add(job, tasks)
    _place(context, entry)
    await _reconcile(context, entry)


def _place(context: Context, entry: Entry) -> None:
    job, cluster = entry.job, context.clusters[entry.job.cluster]
    _log.warning("the store has a newer version of the job than memory", job=job.id, state=job.state_name)
    cluster.unqueued(job.id)
    cluster.released(job.id)
    if job.is_final:
        context.open_jobs.remove(job.id)
        recheck_dependents(context, job.id)
    else:
        place(context, entry)
    context.wake.set()


async def _reconcile(context: Context, entry: Entry) -> None:
    if isinstance(entry.job.state, HOLDING):
        await reconcile(context, entry.job.cluster)
