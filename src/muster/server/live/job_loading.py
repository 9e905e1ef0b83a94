"""Loads jobs and tasks as they are after the events that were just told: from memory, else from the store.

An event is published when its change is committed, and the engine takes the change over into its memory a moment later.
What is still older there than the event says is read from the store.
"""

import asyncio
from collections.abc import Iterable, Sequence

from muster.domain.errors import NotFound
from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry

_READS_AT_ONCE = 16


async def load_jobs(context: Context, job_ids: Iterable[str], events: Sequence[Event]) -> dict[str, Job | None]:
    """The jobs by id; None for one that was deleted."""
    newest: dict[str, dict[str, Event]] = {}
    for event in events:
        if event.job_id is not None:
            newest.setdefault(event.job_id, {})[_subject(event)] = event
    limit = asyncio.Semaphore(_READS_AT_ONCE)

    async def load(job_id: str) -> Job | None:
        entry = context.open_jobs.get(job_id)
        if entry is not None and all(_is_told_by(entry, event) for event in newest.get(job_id, {}).values()):
            return entry.job
        async with limit:
            return await _stored(context, job_id)

    wanted = list(job_ids)
    return dict(zip(wanted, await asyncio.gather(*map(load, wanted)), strict=True))


async def load_tasks(context: Context, job: Job, events: Sequence[Event]) -> list[Task]:
    """Those tasks of the job that the events are about, in order of attempt and rank."""
    newest = {_subject(event): event for event in events if event.kind.startswith("task.")}
    if not newest:
        return []
    entry = context.open_jobs.get(job.id)
    if entry is not None and all(_is_told_by(entry, event) for event in newest.values()):
        known: Sequence[Task] = entry.current_tasks()
    else:
        known = await context.store.tasks(job.id)
    named = {(event.data.get("name"), event.data.get("attempt")) for event in newest.values()}
    return [task for task in known if (task.name, task.attempt) in named]


async def _stored(context: Context, job_id: str) -> Job | None:
    try:
        return await context.store.job(job_id)
    except NotFound:
        return None


def _subject(event: Event) -> str:
    """Return what the event is about. Only the newest event of a subject says how it is."""
    kind = event.kind.partition(".")[0]
    return f"task {event.data.get('name')}" if kind == "task" else kind


def _is_told_by(entry: Entry, event: Event) -> bool:
    """Whether memory is as the event says. What an audit event is about cannot be compared."""
    data = event.data
    if event.kind.startswith("task."):
        task = next((one for one in entry.tasks.values() if one.name == data.get("name")), None)
        return task is not None and (task.state_name, task.attempt) == (data.get("state"), data.get("attempt"))
    if not event.kind.startswith("job."):
        return False
    job, tally = entry.job, entry.job.tally
    here = (job.state_name, job.attempt, tally.succeeded, tally.failed, tally.active)
    return here == tuple(data.get(key) for key in ("state", "attempt", "succeeded", "failed", "active"))
