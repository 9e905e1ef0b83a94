"""Turns the observations of backends into moves of tasks. Observations of one job are committed together."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from muster.domain.errors import MusterError, StaleWrite, Unavailable
from muster.domain.failures.diagnosis import classify
from muster.domain.jobs import HOLDING, Job, Outcome, Running, Starting, Stopping, Verdict
from muster.domain.tasks import (
    Task,
    TaskFailed,
    TaskLaunching,
    TaskLost,
    TaskPreparing,
    TaskRunning,
    TaskState,
    TaskStopped,
    TaskStopping,
    TaskSucceeded,
    TaskWaiting,
    job_id_of,
    move_task,
)
from muster.domain.tracking import is_followable
from muster.engine.context import Context
from muster.engine.data.log_metrics import follow_log
from muster.engine.data.metric_reading import note_metrics
from muster.engine.lifecycle.completion import RETRY_S, apply_moves, is_decided, stop, stop_orphan
from muster.engine.lifecycle.node_holds import note_problem
from muster.engine.state.open_jobs import Entry
from muster.launch.shells import is_pipe
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import TaskRef

_log = structlog.get_logger("engine.observing")
TAIL_BYTES = 16_384
CHECKPOINTS_APART_S = 1.0
ESTIMATES_APART_S = 60.0
ESTIMATES_WITHIN_S = 7 * 24 * 3600.0
GATHER_S = 0.005
"""How long the start of a task may wait to be written with others, or with its own end. An end never waits."""


def receive(context: Context, observation: Observation) -> None:
    """Take an observation on the event loop. One that belongs to no open job is ignored. What backends report is
    checked before: see `speaks_for_its_own`."""
    entry = context.open_jobs.get(job_id_of(observation.task_id))
    if entry is None:
        return
    task = entry.tasks.get(observation.task_id)
    if task is not None and observation.metrics_bytes:
        note_metrics(context, entry.job.cluster, task, observation.metrics_bytes)
    if task is not None and observation.phase is Phase.RUNNING:
        follow_log(context, entry.job, task)
    entry.inbox.append(observation)
    if observation.phase in (Phase.ENDED, Phase.LOST):
        _look(context, entry)
    elif not entry.is_observing and not entry.is_gathering:
        entry.is_gathering = True
        asyncio.get_running_loop().call_later(GATHER_S, _look, context, entry)


def speaks_for_its_own(context: Context, cluster: str, observation: Observation) -> bool:
    """Whether the task of this observation was placed on the cluster and the node that report it. A cluster must not
    end a task of another one, and a node none of another node. Engines choose the nodes themselves, and may move a
    task."""
    entry = context.open_jobs.get(job_id_of(observation.task_id))
    task = entry.tasks.get(observation.task_id) if entry is not None else None
    if entry is None or task is None:
        return True
    if entry.job.cluster != cluster:
        _log.warning("a cluster reports a task of another cluster", task=task.id, cluster=cluster)
        return False
    if not observation.node or not task.placement.node:
        return True
    is_right = observation.node == task.placement.node
    if is_right or context.engine(cluster) is not None:
        return True
    _log.warning("a node reports a task of another node", task=task.id, node=observation.node)
    return False


def _look(context: Context, entry: Entry) -> None:
    entry.is_gathering = False
    if entry.inbox and not entry.is_observing:
        entry.is_observing = True
        context.spawn(observe(context, entry), f"observe {entry.job.id}")


async def observe(context: Context, entry: Entry) -> None:
    async with entry.lock:
        entry.is_observing = False
        observations, entry.inbox = entry.inbox, []
        _stop_what_is_over(context, entry, observations)
        if not isinstance(entry.job.state, HOLDING):
            return
        try:
            await _cancel_removed(context, entry, observations)
            moved = await moves(context, entry, observations)
            checkpoint_at = newest_checkpoint(entry, observations, context.clock())
            tracking_url = newest_tracking_url(entry, observations)
            if moved or checkpoint_at is not None or tracking_url or is_decided(context, entry):
                await apply_moves(context, entry, moved, checkpoint_at, tracking_url)
        except (Unavailable, StaleWrite) as error:
            _log.warning("not written, will try again", job=entry.job.id, error=str(error))
            asyncio.get_running_loop().call_later(RETRY_S, _again, context, observations)


async def _cancel_removed(context: Context, entry: Entry, observations: Sequence[Observation]) -> None:
    """Cancel an attempt that somebody has removed in the engine itself. Its tasks have not failed."""
    reason = next((seen.cancelled for seen in observations if seen.cancelled and seen.task_id in entry.tasks), "")
    if reason and isinstance(entry.job.state, Starting | Running):
        by = context.backends[entry.job.cluster].settings.backend
        await stop(context, entry, Verdict(Outcome.CANCEL, reason, by=by))


def _stop_what_is_over(context: Context, entry: Entry, observations: Sequence[Observation]) -> None:
    """Stop tasks that still run although their attempt is over. Their node was unreachable when it was decided."""
    lost_tasks: set[str] = set()
    for observation in observations:
        task = entry.tasks.get(observation.task_id)
        is_open = isinstance(entry.job.state, HOLDING) and task is not None and not task.has_ended
        if observation.phase is Phase.LOST:
            lost_tasks.add(observation.task_id)
        elif observation.phase in (Phase.WAITING, Phase.RUNNING) and (not is_open or observation.task_id in lost_tasks):
            stopping = stop_orphan(context, entry.job.cluster, observation)
            context.spawn(stopping, f"orphan {observation.task_id}")


def _again(context: Context, observations: Sequence[Observation]) -> None:
    for observation in observations:
        receive(context, observation)


def newest_tracking_url(entry: Entry, observations: Sequence[Observation]) -> str:
    """Where the tasks of the gang say that the job can be followed, or empty if they say nothing new. If several say
    different addresses, that of the task with the lowest rank counts."""
    entry.tracking_urls |= {
        seen.task_id: seen.tracking_url for seen in observations if is_followable(seen.tracking_url)
    }
    told = entry.tracking_urls
    ranked = sorted((entry.tasks[task_id].rank, url) for task_id, url in told.items() if task_id in entry.tasks)
    url = ranked[0][1] if ranked else ""
    return "" if url == entry.job.tracking_url else url


def newest_checkpoint(entry: Entry, observations: Sequence[Observation], now: float) -> float | None:
    """The latest checkpoint that any task of the gang reported, or None if none is new. One within a second of the last
    is the same checkpoint, reported by another task."""
    reported = [seen.checkpoint_at for seen in observations if seen.checkpoint_at and seen.task_id in entry.tasks]
    latest = min(max(reported, default=0.0), now)
    return latest if latest >= (entry.job.checkpoint_at or 0.0) + CHECKPOINTS_APART_S else None


async def moves(context: Context, entry: Entry, observations: Sequence[Observation]) -> dict[str, list[Task]]:
    """Every task that moves, with all states that it passes through, so that the history has them all."""
    passed: dict[str, list[Task]] = {}
    for observation in observations:
        task = passed.get(observation.task_id, [entry.tasks.get(observation.task_id)])[-1]
        if task is None or task.has_ended:
            continue
        if observation.node_problem:
            note_problem(context, entry.job.cluster, task.placement.node, observation.node_problem)
        steps = await _steps(context, entry.job, task, observation)
        if steps:
            passed.setdefault(task.id, []).extend(steps)
    return passed


async def _steps(context: Context, job: Job, task: Task, observation: Observation) -> list[Task]:
    now = context.clock()
    steps: list[Task] = []
    task = _identified(task, observation)
    if observation.phase is Phase.WAITING:
        return _wait(task, observation, now)
    if observation.phase is Phase.PREPARING:
        return _step(task, TaskPreparing(now))
    if observation.started_at is not None and task.started_at is None:
        since = job.state.since if isinstance(job.state, Starting) else job.created_at
        started_at = plausible(observation.started_at, since, now)
        if isinstance(task.state, TaskStopping):
            task = replace(task, started_at=started_at)
        else:
            steps = _step(task, TaskRunning(started_at))
            task = steps[-1] if steps else task
    if observation.phase is Phase.RUNNING:
        return steps
    task = replace(task, exit_code=observation.exit_code, signal=observation.signal, used=observation.used)
    return [*steps, move_task(task, await _end(context, job, task, observation))]


def _identified(task: Task, observation: Observation) -> Task:
    """The task with the handle by which its backend knows it, and the node that an engine has chosen for it."""
    if observation.handle and observation.handle != task.handle:
        task = replace(task, handle=observation.handle)
    if observation.node and not task.placement.node:
        task = replace(task, placement=replace(task.placement, node=observation.node))
    return task


def _wait(task: Task, observation: Observation, now: float) -> list[Task]:
    """The move of a task that now waits in an engine's queue, or waits there for another reason than before. An
    estimate that changes by less than a minute is not recorded, and one of many days, which says nothing, is none."""
    if not isinstance(task.state, TaskLaunching | TaskWaiting):
        return []
    before = task.state if isinstance(task.state, TaskWaiting) else None
    is_soon = observation.starts_at is not None and observation.starts_at <= now + ESTIMATES_WITHIN_S
    waits = TaskWaiting(
        before.since if before is not None else now,
        observation.wait_reason,
        observation.starts_at if is_soon and not observation.needs_action else None,
        observation.needs_action,
    )
    if before is not None and before.reason == waits.reason and not _differ(before, waits):
        return []
    return [move_task(task, waits)]


def _differ(before: TaskWaiting, now: TaskWaiting) -> bool:
    if before.needs_action != now.needs_action:
        return True
    if before.starts_at is None or now.starts_at is None:
        return before.starts_at != now.starts_at
    return abs(before.starts_at - now.starts_at) >= ESTIMATES_APART_S


def plausible(told: float, since: float, now: float) -> float:
    """When it happened, by the clock of a node, which may be wrong: not before what came first, and not after now."""
    return min(max(told, since), now)


def _step(task: Task, state: TaskState) -> list[Task]:
    """One move, unless the task is already in that state or beyond it."""
    if type(state) is type(task.state) or isinstance(task.state, TaskStopping | TaskRunning):
        return []
    return [move_task(task, state)]


async def _end(context: Context, job: Job, task: Task, observation: Observation) -> TaskState:
    now = context.clock()
    at = (
        now if observation.ended_at is None else plausible(observation.ended_at, task.started_at or job.created_at, now)
    )
    # Only this server's order makes an end a stop. What a node says of a stop, a task may have written there itself.
    is_ordered = isinstance(task.state, TaskStopping) or isinstance(job.state, Stopping)
    if is_ordered and (observation.exit_code != 0 or observation.stopped) and not _fell_first(job, observation):
        return TaskStopped(at)
    if observation.phase is Phase.ENDED and observation.exit_code == 0 and not observation.error_code:
        return TaskSucceeded(at)
    role = job.spec.role(task.role)
    fault = classify(
        exit_code=observation.exit_code,
        signal=observation.signal,
        oom=observation.oom,
        disk_full=observation.disk_full,
        lost=observation.phase is Phase.LOST,
        error_code=observation.error_code,
        error_message=observation.error_message,
        is_contained=bool(job.spec.runtime.image) and context.backends[job.cluster].capabilities.engine is None,
        is_pipe=role.is_line and is_pipe(role.command[-1]),
        log_tail="" if observation.phase is Phase.LOST else await log_tail(context, job, task),
    )
    fault = replace(fault, task=task.name)
    return TaskLost(at, fault) if observation.phase is Phase.LOST else TaskFailed(at, fault)


def _fell_first(job: Job, observation: Observation) -> bool:
    """Whether the task failed by itself before the stop of its failing gang reached it. Its end may be the cause of the
    one that was reported first. A signal may come from whoever ends the gang, so it proves nothing."""
    failed = isinstance(job.state, Stopping) and job.state.verdict.fault is not None and job.state.verdict.fault.task
    has_failed = bool(observation.exit_code) and observation.signal is None
    return bool(failed) and observation.phase is Phase.ENDED and has_failed and not observation.stopped


async def log_tail(context: Context, job: Job, task: Task) -> str:
    """The last lines that a task wrote, empty if they cannot be read, because a diagnosis must not fail for that."""
    logs, ref = context.backends[job.cluster].capabilities.logs, TaskRef.of(task)
    if logs is None:
        return ""
    try:
        start = await logs.tail_offset(ref, 200)
        chunk = await logs.read(ref, start, TAIL_BYTES)
        end = max(start, chunk.size - TAIL_BYTES)
        if chunk.dropped is not None and chunk.dropped.contains(end):
            end = chunk.dropped.end
        if end > start:
            chunk = await logs.read(ref, end, TAIL_BYTES)
    except MusterError as error:
        _log.info("no log to diagnose", task=task.id, error=str(error))
        return ""
    return chunk.data.decode("utf-8", "replace")
