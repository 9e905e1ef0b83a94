"""Tasks that turn up after their attempt is over: their node was silent when that was decided.

What still runs is stopped. What left a log has it collected now, so that even a lost task can be read.
"""

from collections import defaultdict
from collections.abc import Sequence

import structlog

from muster.domain.errors import MusterError, NotFound
from muster.domain.jobs import HOLDING
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.lifecycle.completion import kept_log, stop_orphan
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.late_logs")
OVER = (Phase.ENDED, Phase.LOST)


def is_of_the_past(context: Context, observation: Observation) -> bool:
    """Its attempt is over, or its job."""
    entry = context.open_jobs.get(observation.task_id.split(".", 1)[0])
    return entry is None or not isinstance(entry.job.state, HOLDING) or observation.task_id not in entry.tasks


async def handle_late(context: Context, observation: Observation) -> None:
    """Of a task of the past that the backend speaks of, unasked."""
    job_id = observation.task_id.split(".", 1)[0]
    entry = context.open_jobs.get(job_id)
    try:
        cluster = entry.job.cluster if entry is not None else (await context.store.job(job_id)).cluster
    except NotFound:
        return  # the next reconciling finds it, and knows whose node it is on
    if cluster not in context.backends:
        return
    if observation.phase in OVER:
        await collect_late(context, cluster, [observation])
    else:
        await stop_orphan(context, cluster, observation)


async def collect_late(context: Context, cluster: str, seen: Sequence[Observation]) -> None:
    """Logs of tasks of the past that are not kept yet; then the node may put aside what is left of them."""
    attempts: dict[tuple[str, int], list[Observation]] = defaultdict(list)
    for observation in seen:
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
    if not is_of_the_past(context, observation):
        return
    if task is not None and task.log is None:
        kept = await kept_log(context, cluster, task)
        if kept.log is None:
            return  # away again, or our disk is full: the next reconciling comes here
        await context.apply(Change(tasks=[kept]))
        entry = context.open_jobs.get(task.job_id)
        if entry is not None and task.id in entry.tasks:
            entry.tasks[task.id] = kept
        task = kept
    if task is None or not await outputs.collect_late(context, task):
        context.settled(cluster, TaskRef(observation.task_id, observation.handle, observation.node or ""))
