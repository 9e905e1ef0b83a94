"""Jobs that another server has handed on to this one: taking them, stopping some of their tasks, letting go of them.

The other server finds them by a label, which holds for as long as it wants to know of them. It decides what becomes of
a job, so that a job is begun once here, and is neither retried nor put back into the queue: see `completion`.
"""

from collections.abc import Collection
from dataclasses import replace

from muster.domain.errors import Conflict, Invalid
from muster.domain.jobs import HOLDING, Job
from muster.domain.specs import HANDED_ON, HandedOn, JobSpec, handed_on_label
from muster.domain.tasks import Task, TaskStopping, move_task
from muster.engine.context import Context
from muster.engine.data.job_secrets import Carried
from muster.engine.lifecycle.completion import apply_moves, stop_tasks
from muster.engine.requests import commands
from muster.engine.requests.relabelling import relabel
from muster.engine.state.event_builders import audit_event
from muster.ports.store import Change, JobFilter, RequestKey

_PAGE = 500


async def take(
    context: Context, spec: JobSpec, origin: HandedOn, own: str, owner: str, key: RequestKey, carried: Carried
) -> tuple[Job, bool]:
    """Submit the job of another server. Returns whether it is new, as `commands.submit` does. `own` is the name of this
    installation. Raises Invalid if the job has been here before."""
    if own in origin.via:
        way = " → ".join((*origin.via, own))
        raise Invalid(
            f"this job would go in circles: server {own} has handed it on itself ({way})",
            hint="remove the cluster file with `backend: muster` that closes the circle",
        )
    labelled = replace(spec, handed_on=origin, labels={**spec.labels, HANDED_ON: origin.label})
    return await commands.submit(context, labelled, owner, key, carried=carried)


async def handed_on(context: Context, owner: str, server: str, cluster: str) -> list[tuple[Job, list[Task]]]:
    """The jobs that this server wants to know of, as they are now, each with the tasks of its first attempt."""
    where = JobFilter(owner=owner, labels=((HANDED_ON, handed_on_label(server, cluster)),))
    found: list[tuple[Job, list[Task]]] = []
    cursor: str | None = None
    while True:
        page = await context.store.jobs(where, limit=_PAGE, cursor=cursor)
        for job in page.items:
            if job.spec.handed_on is not None:
                found.append((job, await context.store.tasks(job.id, 1)))
        cursor = page.next_cursor
        if cursor is None:
            return found


async def stop_some(
    context: Context, job_id: str, workers: Collection[str], actor: str, grace_s: float | None
) -> list[str]:
    """Stop these tasks, named as `worker-0`, while the others go on. If none is left then, the job is over. Returns
    those that have not begun and cannot be stopped by themselves."""
    entry = context.open_jobs.get(job_id)
    if entry is None:
        return []
    open_tasks = {worker_name(task): task for task in entry.current_tasks() if not task.has_ended}
    is_begun = isinstance(entry.job.state, HOLDING)
    everybody = set(open_tasks) if is_begun else _all_workers(entry.job)
    if not everybody:
        return []
    if everybody <= set(workers):
        try:
            await commands.kill(context, job_id, actor, grace_s)
        except Conflict:
            return []  # it has ended meanwhile
        return []
    if not is_begun:
        return sorted(everybody & set(workers))
    async with entry.lock:
        now = context.clock()
        named = [task for task in entry.current_tasks() if worker_name(task) in workers and not task.has_ended]
        moved = {
            task.id: [move_task(task, TaskStopping(now))] for task in named if not isinstance(task.state, TaskStopping)
        }
        if moved:
            stopped = [worker_name(task) for task in named]
            await context.apply(Change(events=[audit_event("job.kill", actor, now, job=entry.job, tasks=stopped)]))
            await apply_moves(context, entry, moved)
    context.spawn(stop_tasks(context, entry, [task.id for task in named], grace_s), f"stop tasks of {job_id}")
    return []


async def let_go(context: Context, job: Job, actor: str) -> None:
    """The other server has all that it needs of this job."""
    if HANDED_ON in job.spec.labels:
        await relabel(
            context, job.id, actor, lambda labels: {key: text for key, text in labels.items() if key != HANDED_ON}
        )


def reached(context: Context) -> frozenset[str]:
    """The installations that jobs may come to from here."""
    offered = (backend.capabilities.handing_on for backend in context.backends.values())
    return frozenset().union(*(one.reaches() for one in offered if one is not None))


def worker_name(task: Task) -> str:
    return f"{task.role}-{task.index}"


def _all_workers(job: Job) -> set[str]:
    return {f"{role.name}-{index}" for role in job.spec.roles for index in range(role.replicas)}
