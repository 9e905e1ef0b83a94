"""When a write was not confirmed, or refused as stale: what the store has is true, and memory follows it.

A database that dies while it commits leaves us in doubt. The job may be stored and unknown here, or further than we
think. Nothing is guessed: once the store answers again the job is read, and reconciling goes on from there.
"""

import asyncio

import structlog

from muster.domain.errors import MusterError, NotFound
from muster.domain.jobs import HOLDING
from muster.engine.context import Context
from muster.engine.lifecycle.completion import RETRY_S
from muster.engine.lifecycle.dependencies import look_at_dependents
from muster.engine.lifecycle.reconciling import place, reconcile
from muster.engine.state.open_jobs import Entry

_log = structlog.get_logger("engine.resync")


async def run_resync(context: Context) -> None:
    while True:
        job_id = await context.in_doubt.get()
        try:
            await resync(context, job_id)
        except MusterError as error:
            _log.warning("still in doubt", job=job_id, error=str(error))
            await asyncio.sleep(RETRY_S)
            context.in_doubt.put_nowait(job_id)


async def resync(context: Context, job_id: str) -> None:
    """Bring the job in memory to what is stored; nothing happens when they agree."""
    entry = context.open_jobs.get(job_id)
    if entry is None:
        await _discover(context, job_id)
        return
    async with entry.turn:
        job = await context.store.job(job_id)
        if job.version <= entry.job.version:
            return
        entry.job, entry.tasks = job, {task.id: task for task in await context.store.tasks(job_id, job.attempt)}
        _place(context, entry)
    await _go_on(context, entry)


async def _discover(context: Context, job_id: str) -> None:
    """A submission that was stored although its submitter was told otherwise."""
    try:
        job = await context.store.job(job_id)
    except NotFound:
        return
    tasks = await context.store.tasks(job_id, job.attempt)
    if job.is_final or context.open_jobs.get(job_id) is not None:
        return
    entry = context.open_jobs.add(job, tasks)
    _place(context, entry)
    await _go_on(context, entry)


def _place(context: Context, entry: Entry) -> None:
    job, cluster = entry.job, context.clusters[entry.job.cluster]
    _log.warning("the store is further than we were told", job=job.id, state=job.state_name)
    cluster.unqueued(job.id)
    cluster.released(job.id)
    if job.is_final:
        context.open_jobs.remove(job.id)
        look_at_dependents(context, job.id)
    else:
        place(context, entry)
    context.wake.set()


async def _go_on(context: Context, entry: Entry) -> None:
    if isinstance(entry.job.state, HOLDING):
        await reconcile(context, entry.job.cluster)
