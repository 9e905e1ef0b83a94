"""Reconciles the store with what the backends report, after a restart and after a node was unreachable.

Nothing is lost, because every intent was written before it was carried out. Nothing runs twice, because every launch is
identified by its task id.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import structlog

from muster.domain.elastic import spec_of_attempt
from muster.domain.errors import Unreachable
from muster.domain.jobs import HOLDING, Job, Queued, Running, Starting, Stopping
from muster.domain.tasks import Task, job_id_of
from muster.engine.context import Context
from muster.engine.lifecycle.completion import apply_moves, expire, stop_tasks
from muster.engine.lifecycle.deadlines import watch_time_limit
from muster.engine.lifecycle.dependencies import queue
from muster.engine.lifecycle.late_logs import ENDED_PHASES, collect_late, handle_late, is_past_attempt
from muster.engine.lifecycle.launching import may_be_launched, relaunch
from muster.engine.lifecycle.observing import receive, speaks_for_its_own
from muster.engine.lifecycle.restored import compare, note_missing, past_ends
from muster.engine.lifecycle.run_history import load_run_times, load_usage
from muster.engine.state.open_jobs import Entry
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import TaskRef
from muster.scheduling.demand import JobDemand, Slot

_log = structlog.get_logger("engine.reconciling")


async def load(context: Context) -> None:
    """Load the open jobs from the store into memory. Nothing is launched or stopped yet."""
    await load_usage(context)
    context.spawn(load_run_times(context), "remember")
    tasks: dict[str, list[Task]] = defaultdict(list)
    for task in await context.store.open_tasks():
        tasks[task.job_id].append(task)
    for job in await context.store.open_jobs():
        entry = context.open_jobs.add(job, tasks[job.id])
        cluster = context.clusters.get(job.cluster)
        if cluster is None:
            _log.error("job on a cluster that is not configured", job=job.id, cluster=job.cluster)
        else:
            place(context, entry)


def place(context: Context, entry: Entry) -> None:
    """Pass an open job to the scheduler: it waits in the queue, or has an allocation already."""
    job, cluster = entry.job, context.clusters[entry.job.cluster]
    if isinstance(job.state, Queued):
        queue(context, entry)
    elif (since := allocated_since(job, entry.current_tasks())) is not None:
        cluster.holds(demand_of_attempt(context, job), slots_of(context, job, entry.current_tasks()), since)
        if job.checkpoint_at is not None:
            cluster.checkpointed(job.id, job.checkpoint_at)


async def reconcile(context: Context, cluster: str, node: str | None = None) -> None:
    """Compare the open attempts of one cluster, or their tasks on one node, with what the backend reports. Tasks
    outside the scope of its answer are left as they are."""
    expected = {
        entry.job.id: tasks
        for entry in context.open_jobs.entries()
        if entry.job.cluster == cluster and isinstance(entry.job.state, HOLDING)
        if (tasks := _open_tasks(entry, node)) or node is None
    }
    observed = await context.backends[cluster].observe_all(node)
    known = {seen.task_id: seen for seen in observed.observations if speaks_for_its_own(context, cluster, seen)}
    if context.is_held:
        known = await past_ends(context, cluster, observed.scope) | known
    for job_id, tasks in expected.items():
        entry = context.open_jobs.get(job_id)
        if entry is not None:
            confirmed = [task for task in tasks if task.id in known or observed.scope.covers(task)]
            context.spawn(_resume(context, entry, confirmed, known), f"resume {job_id}")
    # This runs after the steps above have passed on what was reported.
    asyncio.get_running_loop().call_soon(
        context.unconfirmed_nodes.difference_update, [(cluster, name) for name in observed.scope.nodes]
    )
    if context.is_held:
        await compare(context, known.values())
    _stop_orphans(context, cluster, known)
    past = [seen for seen in known.values() if seen.phase in ENDED_PHASES and is_past_attempt(context, seen)]
    await collect_late(context, cluster, past)


def _open_tasks(entry: Entry, node: str | None) -> list[Task]:
    return [task for task in entry.current_tasks() if not task.has_ended and node in (None, task.placement.node)]


async def _resume(context: Context, entry: Entry, expected: list[Task], known: dict[str, Observation]) -> None:
    """Continue one attempt. `expected` are its tasks as they were before the backend was asked: a task that has moved
    since is not judged by the older answer."""
    for task in expected:
        if task.id in known:
            receive(context, known[task.id])
    missing = [task for task in expected if task.id not in known and entry.tasks.get(task.id) == task]
    if context.is_held and not isinstance(entry.job.state, Stopping):
        for task in missing:
            note_missing(context, task)
        return
    if isinstance(entry.job.state, Stopping):
        for task in missing:
            receive(context, Observation(task.id, Phase.ENDED, stopped=True))
        await stop_tasks(context, entry, [task.id for task in expected if task.id in known])
        async with entry.lock:
            if isinstance(entry.job.state, Stopping) and all(task.has_ended for task in entry.tasks.values()):
                await apply_moves(context, entry, {})
        return
    await _judge_gone(context, entry, [task for task in missing if not may_be_launched(context, entry.job, task)])
    if isinstance(entry.job.state, Starting):
        await relaunch(context, entry)
    if entry.deadline is None:
        watch_time_limit(context, entry, expire)


async def _judge_gone(context: Context, entry: Entry, gone: list[Task]) -> None:
    """Tasks that had been started and are not there any more were lost, unless somebody has removed the whole attempt
    in the engine: that cancels the job. While the engine does not answer, nothing is judged; it is asked again."""
    removals = context.backends[entry.job.cluster].capabilities.removals
    cancelled = ""
    if gone and removals is not None:
        try:
            cancelled = await removals.removed([TaskRef.of(task) for task in gone])
        except Unreachable as error:
            _log.warning("an attempt that is gone was not judged", job=entry.job.id, error=str(error))
            return
    for task in gone:
        if entry.tasks.get(task.id) == task:
            receive(context, Observation(task.id, Phase.LOST, cancelled=cancelled))


def _stop_orphans(context: Context, cluster: str, known: dict[str, Observation]) -> None:
    """Stop tasks that run and belong to no open attempt: their job ended, or continued without them as they were
    considered lost."""
    for observation in known.values():
        entry = context.open_jobs.get(job_id_of(observation.task_id))
        task = entry.tasks.get(observation.task_id) if entry is not None else None
        is_open = task is not None and not task.has_ended
        if context.is_held or is_open or observation.phase not in (Phase.WAITING, Phase.PREPARING, Phase.RUNNING):
            continue
        _log.warning("stopping a task that belongs to no open attempt", task=observation.task_id)
        handle_late(context, cluster, observation)


def demand_of_attempt(context: Context, job: Job) -> JobDemand:
    """The demand of the current attempt, with as many tasks as an elastic job runs with."""
    sized = replace(job, spec=spec_of_attempt(job))
    return replace(context.demand_of(job), tasks=context.demand_of(sized).tasks)


def allocated_since(job: Job, tasks: Sequence[Task]) -> float | None:
    """When the job got its allocation, or None if it has none. For a stopping job it is when its last task started."""
    if not isinstance(job.state, Starting | Running | Stopping):
        return None
    starts = [task.started_at for task in tasks if task.started_at is not None]
    return max(starts) if isinstance(job.state, Stopping) and starts else job.state.since


def slots_of(context: Context, job: Job, tasks: Sequence[Task]) -> list[Slot]:
    """The slots of the gang's tasks: devices of their nodes, or of the pool if an engine places them."""
    pool = job.cluster if context.engine(job.cluster) is not None else None
    return [
        Slot(
            task.role,
            task.index,
            pool or task.placement.node,
            context.counted(job.cluster, job.spec.role(task.role).resources),
            task.placement.pool_devices if pool else task.placement.devices,
            task.placement.extended,
        )
        for task in tasks
    ]
