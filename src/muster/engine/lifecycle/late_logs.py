"""Tasks that are reported after their attempt is over, because their node was unreachable when it was decided.

Those that still run are stopped. The logs of the others are collected now, so that even the log of a lost task can be
read.
"""

from collections import defaultdict
from collections.abc import Sequence

import structlog

from muster.domain.errors import MusterError
from muster.domain.jobs import HOLDING
from muster.domain.tasks import Task, job_id_of
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.lifecycle.completion import stop_orphan, with_collected_log
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.late_logs")
ENDED_PHASES = (Phase.ENDED, Phase.LOST)
_COLLECTED_AT_ONCE = 2000


def is_past_attempt(context: Context, observation: Observation) -> bool:
    """Whether the task belongs to an attempt or a job that is over."""
    entry = context.open_jobs.get(job_id_of(observation.task_id))
    return entry is None or not isinstance(entry.job.state, HOLDING) or observation.task_id not in entry.tasks


def handle_late(context: Context, cluster: str, observation: Observation) -> None:
    """Stop a task of a past attempt that the backend of this cluster has reported, or collect its log if it has ended.
    Of each cluster a few are handled at once, whatever it reports."""
    if context.late_tasks.add(cluster, observation):
        context.spawn(_handle(context, cluster), f"late tasks of {cluster}")


async def _handle(context: Context, cluster: str) -> None:
    while (observation := context.late_tasks.take(cluster)) is not None:
        try:
            if cluster not in context.backends:
                continue
            if observation.phase in ENDED_PHASES:
                await collect_late(context, cluster, [observation])
            else:
                await stop_orphan(context, cluster, observation)
        except Exception:
            _log.exception("late task not handled", task=observation.task_id)


async def collect_late(context: Context, cluster: str, seen: Sequence[Observation]) -> None:
    """Collect the logs of tasks of past attempts that are not kept yet. Then the node may retire the tasks, and its
    next report has others. A restored server leaves them as they are."""
    if context.is_held:
        return
    attempts: dict[tuple[str, int], list[Observation]] = defaultdict(list)
    for observation in seen[:_COLLECTED_AT_ONCE]:
        job_id, number, *_ = (*observation.task_id.split("."), "")
        attempts[job_id, int(number) if number.isdigit() else 0].append(observation)
    for (job_id, attempt), observations in attempts.items():
        try:
            stored = {task.id: task for task in await context.store.tasks(job_id, attempt)}
            for observation in observations:
                await _collect(context, cluster, observation, stored.get(observation.task_id))
        except MusterError as error:
            _log.warning("late logs not kept", job=job_id, error=str(error))


async def _collect(context: Context, cluster: str, observation: Observation, task: Task | None) -> None:
    if not is_past_attempt(context, observation):
        return
    if task is not None and not await _ran_there(context, cluster, observation, task):
        _log.warning("a cluster reports a task of another cluster", task=task.id, cluster=cluster)
        return
    if task is not None and task.log is None:
        if observation.metrics_bytes:
            context.reported_metrics.sizes[task.id] = observation.metrics_bytes
        kept = await with_collected_log(context, cluster, task)
        if kept.log is None:
            return  # the node is unreachable again, or the disk is full: the next reconciliation comes here
        await context.apply(Change(tasks=[kept]))
        entry = context.open_jobs.get(task.job_id)
        if entry is not None and task.id in entry.tasks:
            entry.tasks[task.id] = kept
        context.kept_data.changed(entry.job if entry is not None else await context.store.job(task.job_id))
        task = kept
    if task is None or not await outputs.collect_late(context, task):
        context.settled(cluster, TaskRef(observation.task_id, observation.handle, observation.node or ""))


async def _ran_there(context: Context, cluster: str, observation: Observation, task: Task) -> bool:
    """Whether this cluster had been given the task. A job may have been moved to another one since."""
    entry = context.open_jobs.get(task.job_id)
    job = entry.job if entry is not None else await context.store.job(task.job_id)
    if job.cluster == cluster:
        return True
    place = observation.handle, observation.node or ""
    return task.attempt < job.attempt and place == (task.handle, task.placement.node)
