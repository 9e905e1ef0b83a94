"""Derives the state of a job from its tasks: it runs, its attempt is decided, the rest is stopped, it has ended.

Every attempt that held resources ends through this module, so log collection and release are written once.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

import structlog

from muster.domain.completion import (
    decide,
    failure_verdict,
    has_succeeded,
    may_have_succeeded,
    preempted_fault,
    root_fault,
    tally,
)
from muster.domain.errors import MusterError, NotFound, StaleWrite, Unavailable, Unreachable
from muster.domain.events import Event
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import (
    GOES_ON,
    Cancelled,
    Failed,
    Held,
    Job,
    JobState,
    Outcome,
    Queued,
    Running,
    Starting,
    Stopping,
    Succeeded,
    Verdict,
    move,
)
from muster.domain.tasks import Task, TaskStopped, TaskStopping, TaskSucceeded, move_task
from muster.domain.used_resources import NOTHING_USED, sum_of
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.data.log_metrics import read_collected_log
from muster.engine.data.log_times import keep_times
from muster.engine.data.metric_reading import read_all_metrics
from muster.engine.lifecycle.deadlines import watch_time_limit
from muster.engine.lifecycle.dependencies import queue, recheck_dependents
from muster.engine.lifecycle.fault_attribution import attributed
from muster.engine.lifecycle.node_exclusion import failed_nodes
from muster.engine.lifecycle.node_holds import note_ends
from muster.engine.lifecycle.run_history import learn_run_time
from muster.engine.state.event_builders import checkpoint_event, job_event, task_event, tracking_event
from muster.engine.state.open_jobs import Entry
from muster.lib.backoff import exponential
from muster.ports.backend import Observation
from muster.ports.capabilities import TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.completion")
RETRY_S = 1.0
"""How long to wait after the store refused a write: the disk may be full, or the database unavailable."""


async def apply_moves(
    context: Context,
    entry: Entry,
    moved: dict[str, list[Task]],
    checkpoint_at: float | None = None,
    tracking_url: str = "",
) -> None:
    """Commit the task moves, a new checkpoint, a new tracking URL, and what follows from them. The caller holds the
    job's lock."""
    now = context.clock()
    tasks = entry.tasks | {task_id: steps[-1] for task_id, steps in moved.items()}
    events = [task_event(step, entry.job.owner, now) for steps in moved.values() for step in steps]
    job = replace(entry.job, tally=tally(list(tasks.values())), version=entry.job.version + 1)
    if checkpoint_at is not None:
        job = replace(job, checkpoint_at=checkpoint_at)
        events.append(checkpoint_event(job, now))
    if tracking_url:
        job = replace(job, tracking_url=tracking_url)
        events.append(tracking_event(job, now))
    gang = list(tasks.values())
    if isinstance(job.state, Starting) and all(task.started_at is not None for task in gang):
        job = move(job, Running(max(task.started_at or now for task in gang)))
        events.append(job_event(job, now))
    if isinstance(job.state, Starting | Running) and (verdict := _verdict(context, job, gang)):
        await stop(context, entry, verdict, job=job, tasks=tasks, events=events)
        return
    if isinstance(job.state, Stopping) and all(task.has_ended for task in gang):
        await _finish(context, entry, job, tasks, events)
        return
    await _commit(context, entry, job, tasks, events, changed=list(moved))
    if checkpoint_at is not None:
        context.clusters[job.cluster].checkpointed(job.id, checkpoint_at)
    if entry.deadline is None:
        watch_time_limit(context, entry, expire)


def is_decided(context: Context, entry: Entry) -> bool:
    """Whether the attempt can be decided, although no task has moved: a verdict was postponed, and a node has answered
    since."""
    return isinstance(entry.job.state, Starting | Running) and bool(_verdict(context, entry.job, entry.current_tasks()))


def _verdict(context: Context, job: Job, gang: Sequence[Task]) -> Verdict | None:
    """The verdict on the attempt, or None while it is open. A gang that lost tasks is not given up while a node is
    silent whose tasks may have completed the job; the node answers, or is lost as well."""
    verdict = decide(job, gang)
    if verdict is None:
        return None
    silent = {node for cluster, node in context.unconfirmed_nodes if cluster == job.cluster}
    if verdict.fault is not None and silent and may_have_succeeded(job, gang, silent):
        return None
    return attributed(context, job, gang, verdict)


async def stop(
    context: Context,
    entry: Entry,
    verdict: Verdict,
    *,
    job: Job | None = None,
    tasks: dict[str, Task] | None = None,
    events: Sequence[Event] = (),
    actor: str | None = None,
    grace_s: float | None = None,
) -> None:
    """Decide the attempt: stop the tasks that still run, or finish at once. The caller holds the job's lock."""
    now = context.clock()
    job = move(job or entry.job, Stopping(now, verdict), reason=verdict.reason)
    tasks = tasks if tasks is not None else dict(entry.tasks)
    left = [task for task in tasks.values() if not task.has_ended]
    if not left:
        await _finish(context, entry, job, tasks, events)
        return
    stopping = {task.id: move_task(task, TaskStopping(now)) for task in left if not _is_stopping(task)}
    task_events = [task_event(task, job.owner, now) for task in stopping.values()]
    all_events = [*events, job_event(job, now, actor=actor), *task_events]
    await _commit(context, entry, job, tasks | stopping, all_events)
    context.spawn(stop_tasks(context, entry, [task.id for task in left], grace_s), f"stop {job.id}")


async def stop_tasks(context: Context, entry: Entry, task_ids: Sequence[str], grace_s: float | None = None) -> None:
    """Ask the backend to stop the tasks until every stop is delivered. Their ends are observed. A stop never overtakes
    the launch."""
    if entry.preparing is not None:
        entry.preparing.cancel()
    await entry.launched.wait()
    tries = 0
    left: Sequence[str] = list(task_ids)
    while open_tasks := [entry.tasks[one] for one in left if one in entry.tasks and not entry.tasks[one].has_ended]:
        left = await _undelivered(context, entry.job, open_tasks, grace_s)
        if not left:
            return
        tries += 1
        await asyncio.sleep(exponential(tries, first_s=0.2, limit_s=30.0))


async def _undelivered(context: Context, job: Job, tasks: Sequence[Task], grace_s: float | None) -> Sequence[str]:
    grace = job.spec.grace_s if grace_s is None else grace_s
    try:
        return await context.backends[job.cluster].stop([TaskRef.of(task) for task in tasks], grace)
    except MusterError as error:
        _log.warning("stop not delivered", job=job.id, error=str(error))
        return [task.id for task in tasks]


async def stop_orphan(context: Context, cluster: str, orphan: Observation) -> None:
    """Ask the node to stop the task until the stop is delivered. If the node goes away, the next reconciliation finds
    what is left. A restored server stops nothing that it does not know."""
    if context.is_held:
        return
    tries = 0
    found = TaskRef(orphan.task_id, orphan.handle, orphan.node or "")
    while True:
        try:
            if not await context.backends[cluster].stop([found], 0.0):
                return
        except Unreachable:
            return
        except MusterError as error:
            _log.warning("orphan not stopped", task=orphan.task_id, error=str(error))
        tries += 1
        await asyncio.sleep(exponential(tries, first_s=0.2, limit_s=30.0))


async def expire(context: Context, entry: Entry, attempt: int, fault: Fault) -> None:
    async with entry.lock:
        if entry.job.attempt != attempt or not isinstance(entry.job.state, Starting | Running):
            return
        try:
            await stop(context, entry, Verdict(Outcome.FAIL, fault.cause, fault))
        except (Unavailable, StaleWrite) as error:
            _log.warning("time limit not written, will try again", job=entry.job.id, error=str(error))
            context.later(RETRY_S, lambda: expire(context, entry, attempt, fault), f"expire {entry.job.id}")


async def _finish(context: Context, entry: Entry, job: Job, tasks: dict[str, Task], events: Sequence[Event]) -> None:
    """All tasks have ended: collect their logs, release what they held, and write the end."""
    assert isinstance(job.state, Stopping)
    now = context.clock()
    kept = await _with_logs(context, job, list(tasks.values()))
    verdict = _final_verdict(job, job.state.verdict, kept)
    after = _after(job, verdict, now, _ended_at(kept, now))
    final = move(_counted(job, kept, verdict), after, reason=verdict.reason)
    await _commit(context, entry, final, {task.id: task for task in kept}, [*events, job_event(final, now)])
    note_ends(context, job.cluster, kept)
    context.kept_data.changed(final)
    entry.avoid = failed_nodes(kept) if verdict.outcome is Outcome.RETRY else frozenset()
    _release(context, entry)


def _ended_at(tasks: Sequence[Task], now: float) -> float:
    """When the last task ended. The server may have been away, and know of it only now."""
    return min(now, max((task.ended_at or now for task in tasks), default=now))


def _after(job: Job, verdict: Verdict, now: float, ended_at: float) -> JobState:
    match verdict.outcome:
        case Outcome.SUCCEED:
            return Succeeded(ended_at)
        case Outcome.FAIL:
            return Failed(ended_at, verdict.fault or Fault(FaultKind.PLATFORM, "unknown", verdict.reason))
        case Outcome.CANCEL:
            return Cancelled(ended_at, verdict.by)
        case Outcome.HOLD:
            return Held(now, verdict.by)
        case Outcome.PREEMPT:
            return Queued(now)
        case Outcome.RETRY:
            return Queued(now, now + exponential(job.retries + job.platform_retries + 1))
        case _:
            assert_never(verdict.outcome)


def _final_verdict(job: Job, verdict: Verdict, tasks: Sequence[Task]) -> Verdict:
    """A gang that was preempted, or is to run again through no fault of its own, has succeeded if enough of its tasks
    had succeeded before the stop reached them. One that failed may have failed for what another task reported later.
    One that another server has handed on is not tried again here: that server does so, and both would run."""
    if verdict.fault is not None and verdict.fault.task and (root := root_fault(tasks, verdict.fault)) != verdict.fault:
        verdict = failure_verdict(job, root)
    is_lost = verdict.outcome is Outcome.RETRY and not (verdict.fault and verdict.fault.counts_against_retries)
    if is_lost and has_succeeded(job, tasks):
        return Verdict(Outcome.SUCCEED)
    is_done = verdict.outcome is Outcome.PREEMPT and all(isinstance(task.state, TaskSucceeded) for task in tasks)
    if is_done:
        return Verdict(Outcome.SUCCEED)
    if job.spec.handed_on is not None and verdict.outcome in (Outcome.RETRY, Outcome.PREEMPT):
        return replace(verdict, outcome=Outcome.FAIL, fault=verdict.fault or preempted_fault(verdict.reason))
    return verdict


def _counted(job: Job, tasks: Sequence[Task], verdict: Verdict) -> Job:
    """The job with its run time, of which some may be lost, and with the retry counted against its owner or the
    platform."""
    goes_on = verdict.outcome in GOES_ON
    used = sum_of((task.used for task in tasks), job.used or NOTHING_USED)
    ran_s = job.ran_s + _ran_s(job, tasks, goes_on=goes_on)
    job = replace(job, ran_s=ran_s, run_time_s=job.run_time_s + _attempt_s(job, tasks), used=used)
    if goes_on:
        job = replace(job, checkpoint_at=None, sizes=(), tracking_url="")
    if verdict.outcome is not Outcome.RETRY or verdict.fault is None:
        return job
    if verdict.fault.counts_against_retries:
        return replace(job, retries=job.retries + 1)
    return replace(job, platform_retries=job.platform_retries + 1)


def _ran_s(job: Job, tasks: Sequence[Task], *, goes_on: bool) -> float:
    """The run time that counts: up to the last checkpoint if the job is to continue later, otherwise all of it."""
    starts = [task.started_at for task in tasks if task.started_at is not None]
    if len(starts) < len(tasks):
        return 0.0  # the gang was never whole
    until = job.checkpoint_at if goes_on else max(task.ended_at or 0.0 for task in tasks)
    return max(0.0, (until or 0.0) - max(starts))


def _attempt_s(job: Job, tasks: Sequence[Task]) -> float:
    """How long the whole gang ran, up to the end of its last task."""
    if job.running_since is None:
        return 0.0
    return max(0.0, max((task.ended_at or 0.0 for task in tasks), default=0.0) - job.running_since)


async def _with_logs(context: Context, job: Job, tasks: Sequence[Task]) -> list[Task]:
    """The tasks with their logs collected. A lost node is not asked: its logs are collected when it is back
    (`late_logs`)."""
    lost = context.lost_nodes.get(job.cluster, frozenset())
    wanted = [task for task in tasks if task.log is None and task.placement.node not in lost]
    kept = {
        task.id: task
        for task in await asyncio.gather(*(with_collected_log(context, job.cluster, one) for one in wanted))
    }
    return [kept.get(task.id, task) for task in tasks]


def log_name(task: Task) -> str:
    return f"{task.job_id}/{task.attempt}.{task.role}-{task.index}.log"


async def with_collected_log(context: Context, cluster: str, task: Task) -> Task:
    """The task with its log and its metrics collected, or unchanged if they cannot be collected now."""
    name = log_name(task)
    logs = context.backends[cluster].capabilities.logs
    if logs is None:
        return task
    try:
        await read_all_metrics(context, cluster, task)
        dropped = await logs.collect(TaskRef.of(task), context.logs / name)
        if dropped is not None:
            name = dropped.file_name(name)
            (context.logs / log_name(task)).replace(context.logs / name)
    except NotFound as error:
        _log.info("the task has no log", task=task.id, error=str(error))
        return task
    except (MusterError, OSError) as error:  # the node is unreachable, or the server's own disk is full
        _log.warning("log not collected", task=task.id, error=str(error))
        return task
    await keep_times(context, cluster, task)
    kept = replace(task, log=name)
    await read_collected_log(context, kept)
    return kept


def _release(context: Context, entry: Entry) -> None:
    """Free the job's allocation, once its end is committed. The job is out of the queue, or waits in it again."""
    job = entry.job
    cluster = context.clusters[job.cluster]
    cluster.released(job.id)
    if job.spec.outputs:
        context.spawn(outputs.collect(context, job, list(entry.tasks.values())), f"outputs {job.id}")
    for task in entry.tasks.values() if not job.spec.outputs else ():
        if task.log is not None:
            context.settled(job.cluster, TaskRef.of(task))
    if entry.deadline is not None:
        entry.deadline.cancel()
        entry.deadline = None
    if job.is_final:
        context.open_jobs.remove(job.id)
        learn_run_time(cluster, job)
        recheck_dependents(context, job.id)
    elif isinstance(job.state, Queued):
        queue(context, entry)
    context.wake.set()


async def _commit(
    context: Context,
    entry: Entry,
    job: Job,
    tasks: dict[str, Task],
    events: Sequence[Event],
    *,
    changed: Sequence[str] | None = None,
) -> None:
    """Write to the store first, then update memory. `steps` is how far the version moved since what is stored."""
    written = [task for task in tasks.values() if changed is None or task.id in changed]
    change = Change(job=job, steps=job.version - entry.job.version, tasks=written, events=events)
    await context.apply(change)
    entry.job, entry.tasks = job, dict(tasks)


def _is_stopping(task: Task) -> bool:
    return isinstance(task.state, TaskStopping | TaskStopped)
