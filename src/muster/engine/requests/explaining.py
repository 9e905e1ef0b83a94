"""Explains why a job is in its state and what to do about it, in the same words for the command line, API and pages."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from muster.domain.errors import Conflict, MusterError
from muster.domain.failures.diagnosis import evidence
from muster.domain.failures.faults import Fault
from muster.domain.job_reasons import killed_by
from muster.domain.jobs import (
    ELSEWHERE,
    Cancelled,
    Failed,
    Held,
    Job,
    Queued,
    Running,
    Starting,
    Stopping,
    Succeeded,
)
from muster.domain.reasons import Reason
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskPreparing, TaskWaiting
from muster.engine.cluster_access import is_removed
from muster.engine.context import Context
from muster.engine.data.logs import LogReader
from muster.engine.lifecycle import dependencies
from muster.engine.lifecycle.observing import TAIL_BYTES
from muster.engine.requests import unmet_needs
from muster.engine.requests.admission import readmit
from muster.lib.quantities import format_duration
from muster.ports.capabilities import PatientQueue
from muster.scheduling.allocations.usage_views import StartForecast, WhatIf
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.pooled import with_others

_MOST_ENGINE_REASONS = 4
_MOST_WAITING = 10_000
_AT_ONCE = 500
_LOOK_OUTSIDE = "look at its program where it runs; `muster history compare` shows what it has reported"
_MOST_STOPS = 1000
_WAIT = "it starts when its cluster's engine starts it"
_TAKES = "it is asked again until it takes the job"
_ACT = "waiting alone does not help: change the job, or ask somebody who administers the cluster"


@dataclass(frozen=True, slots=True)
class AttemptStory:
    attempt: int
    started_at: float | None
    ended_at: float | None
    outcome: str
    stopped_because: str = ""
    """Why it was stopped, such as by which job it was preempted; empty if it ended by itself or has not ended."""


@dataclass(frozen=True, slots=True)
class Explanation:
    job: Job
    summary: str
    reasons: tuple[Reason, ...]
    fault: Fault | None
    evidence: tuple[str, ...]
    attempts: tuple[AttemptStory, ...]
    next: str
    start: StartForecast | None
    """When a waiting job starts, if something is known about that."""


async def explain(context: Context, reader: LogReader, job: Job) -> Explanation:
    if job.cluster == ELSEWHERE:
        return _outside(job)
    tasks = await context.store.tasks(job.id)
    current = [task for task in tasks if task.attempt == job.attempt]
    fault = _fault(job, current)
    reasons = live_reasons(context, job)
    summary, next_step = _story(job, current, fault, reasons[0] if reasons else None, context.clock())
    return Explanation(
        job=job,
        summary=summary,
        reasons=reasons,
        fault=fault,
        evidence=tuple(await _evidence(context, reader, job, tasks, fault)),
        attempts=tuple(_attempts(tasks, await _stops(context, job))),
        next=next_step,
        start=_estimate(context, job),
    )


def _outside(job: Job) -> Explanation:
    summary = f"{job.name} was made outside of Muster, which has only what its program reports: {job.state_name}."
    return Explanation(job, summary, (), None, (), (), _LOOK_OUTSIDE, None)


async def what_if(context: Context, job: Job, spec: JobSpec) -> WhatIf:
    """Explain a waiting job as if it had this spec. Nothing changes."""
    if not isinstance(job.state, Queued | Held):
        raise Conflict(f"job {job.name} is {job.state_name}: a start can be estimated only for a waiting job")
    other = await readmit(context, job, spec)
    demand = dependencies.hypothetical_demand(context, replace(other, state=Queued(job.state.since)))
    return context.clusters[other.cluster].what_if(demand, context.clock())


def live_reason(context: Context, job: Job) -> Reason | None:
    """The first reason why a job waits, as the last scheduling cycle found it. For a starting job it is the transfer to
    its nodes, why the engine of its cluster has not taken it yet, or what that says."""
    if isinstance(job.state, Starting):
        before = _sending(context, job) or _setting_up(context, job) or _untaken(context, job)
        return before or next(iter(_in_engine_queue(context, job)), None)
    if (removed := _removed_cluster(context, job)) is not None:
        return removed
    cluster = _queue_of(context, job)
    reason = cluster.reason(job.id) if cluster is not None else None
    return None if reason is None else _as_of_now(context, job, reason)


async def waiting_for(context: Context, text: str, owner: str | None) -> tuple[str, ...]:
    """The ids of open jobs, of one owner or of all, whose present reason or its code has the text; case does not
    matter. There are no more than a database takes as one list. Others are served in between."""
    wanted = text.casefold()
    found: list[str] = []
    for number, entry in enumerate(context.open_jobs.entries(), 1):
        if owner in (None, entry.job.owner) and wanted in _shown_reason(context, entry.job):
            found.append(entry.job.id)
        if len(found) >= _MOST_WAITING:
            break
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return tuple(found)


def _shown_reason(context: Context, job: Job) -> str:
    reason = live_reason(context, job)
    return (job.reason if reason is None else f"{reason.code} {reason.message}").casefold()


def _sending(context: Context, job: Job) -> Reason | None:
    backend = context.backends.get(job.cluster)
    shipping = backend.capabilities.shipping if backend is not None else None
    progress = shipping.progress(job.spec.digests) if shipping is not None and job.spec.digests else ""
    change = "it starts when all of it has arrived"
    return Reason("sending", progress, change, {"progress": progress}) if progress else None


def _setting_up(context: Context, job: Job) -> Reason | None:
    """Tasks that have started run the setup first. The first of them on a node does the work, and others wait there."""
    entry = context.open_jobs.get(job.id)
    if entry is None or job.spec.setup is None:
        return None
    preparing = [task for task in entry.current_tasks() if isinstance(task.state, TaskPreparing)]
    if not preparing:
        return None
    nodes = list(dict.fromkeys(task.placement.node for task in preparing))
    shown = ", ".join(nodes[:_MOST_ENGINE_REASONS]) + (", …" if len(nodes) > _MOST_ENGINE_REASONS else "")
    message = f"running its setup on {shown}"
    return Reason("setup", message, f"`muster logs {job.name} --setup -f` follows it", {"nodes": shown})


def _in_engine_queue(context: Context, job: Job) -> list[Reason]:
    """What the engine says about the tasks that wait in its queue. Of a gang that started halfway, some tasks wait only
    for the others, so that each reason is named once, with a task that has it."""
    tasks: dict[str, tuple[Task, TaskWaiting]] = {}
    for task, waits in _engine_waits(context, job):
        tasks.setdefault(waits.reason, (task, waits))
    found = []
    for reason, (task, waits) in list(tasks.items())[:_MOST_ENGINE_REASONS]:
        why = f": {reason}" if reason else ""
        which = f" ({task.role}-{task.index})" if len(tasks) > 1 else ""
        message = f"waiting in the queue of {job.cluster}{why}{which}"
        named = {"cluster": job.cluster, "task": f"{task.role}-{task.index}", "said": reason}
        numbers = {name: text for name, text in named.items() if text}
        is_stuck = waits.needs_action
        found.append(
            Reason("engine-stuck", message, _ACT, numbers) if is_stuck else Reason("engine", message, _WAIT, numbers)
        )
    return found


def _pool_note(context: Context, job: Job) -> Reason | None:
    """A remark on the capacity by which the job was handed over, if it waits in the engine's queue nevertheless."""
    engine = context.engine(job.cluster)
    pool = engine.pool() if engine is not None and _engine_waits(context, job) else None
    return Reason("engine-note", pool.note, "") if pool is not None and pool.note else None


def _untaken(context: Context, job: Job) -> Reason | None:
    """The engine has been asked to take the job, and has not taken it."""
    engine = context.engine(job.cluster)
    why = engine.untaken_why(f"{job.id}.{job.attempt}") if isinstance(engine, PatientQueue) else ""
    return Reason("engine-note", f"not taken by {job.cluster} yet: {why}", _TAKES) if why else None


def _engine_waits(context: Context, job: Job) -> list[tuple[Task, TaskWaiting]]:
    """The waiting tasks of the job: first those that wait for somebody, then those that are expected to start last."""
    entry = context.open_jobs.get(job.id)
    tasks = entry.current_tasks() if entry is not None else []
    found = [(task, task.state) for task in tasks if isinstance(task.state, TaskWaiting)]
    return sorted(
        found, key=lambda one: (not one[1].needs_action, -(one[1].starts_at or 0.0), not one[1].reason, one[1].reason)
    )


def live_reasons(context: Context, job: Job) -> tuple[Reason, ...]:
    """All reasons why the job waits, in order."""
    if isinstance(job.state, Starting):
        queued = _in_engine_queue(context, job)
        sent = _sending(context, job), _setting_up(context, job), _untaken(context, job)
        found_now = (*sent, *queued, _pool_note(context, job))
        return tuple(reason for reason in found_now if reason is not None)
    if (removed := _removed_cluster(context, job)) is not None:
        return (removed,)
    cluster = _queue_of(context, job)
    found = cluster.reasons(job.id, context.clock()) if cluster is not None else ()
    return tuple(_as_of_now(context, job, reason) for reason in found)


def _estimate(context: Context, job: Job) -> StartForecast | None:
    if isinstance(job.state, Starting):
        waits = _engine_waits(context, job)
        starts_at = waits[0][1].starts_at if waits else None
        # The engine expected it, and it has not come true.
        return None if starts_at is None or starts_at <= context.clock() else StartForecast(starts_at, None)
    cluster = _queue_of(context, job)
    return cluster.estimate(job.id, context.clock()) if cluster is not None else None


def _queue_of(context: Context, job: Job) -> ClusterState | None:
    return context.clusters.get(job.cluster) if isinstance(job.state, Queued) else None


def _as_of_now(context: Context, job: Job, reason: Reason) -> Reason:
    """The reason with the present states of dependencies and nodes, which the scheduler does not know."""
    if reason.code == dependencies.CODE:
        return dependencies.reason(context, job)
    if (unknown := _unknown_pool(context, job)) is not None:
        return unknown
    engine = context.engine(job.cluster)
    pool = engine.pool() if engine is not None else None
    reason = unmet_needs.detailed(context, job, reason)
    return reason if pool is None else with_others(pool, reason)


def _removed_cluster(context: Context, job: Job) -> Reason | None:
    """Nothing is started on a cluster without a file, also if it still ends its last jobs."""
    if not isinstance(job.state, Queued) or not is_removed(context, job.cluster):
        return None
    message = f"the file of cluster {job.cluster} was removed, so that it starts no more jobs"
    change = f"muster move {job.name} --to CLUSTER, or ask an admin to put it back"
    return Reason("cluster-removed", message, change, {"cluster": job.cluster})


def _unknown_pool(context: Context, job: Job) -> Reason | None:
    """Nothing is handed over to an engine that has not said what it has."""
    engine = context.engine(job.cluster)
    if engine is None or engine.pool() is not None:
        return None
    why = engine.unknown_why() or "it has not answered yet"
    message = f"what cluster {job.cluster} has is not known: {why}"
    change = f"see `muster describe cluster/{job.cluster}`"
    return Reason("unknown-capacity", message, change, {"cluster": job.cluster, "why": why})


def _fault(job: Job, tasks: Sequence[Task]) -> Fault | None:
    if isinstance(job.state, Failed):
        return job.state.fault
    if isinstance(job.state, Stopping):
        return job.state.verdict.fault
    faults = [task.state.fault for task in tasks if isinstance(task.state, TaskFailed | TaskLost)]
    return faults[0] if faults and isinstance(job.state, Queued | Running | Starting) else None


def _story(job: Job, tasks: Sequence[Task], fault: Fault | None, reason: Reason | None, now: float) -> tuple[str, str]:
    name = job.name
    match job.state:
        case Queued():
            again = f" It failed before: {fault.cause}" if fault else f" Before: {job.reason}." if job.reason else ""
            waits = reason.message if reason else "about to start"
            state = waits if waits.startswith("waits ") else f"waits: {waits}"
            return f"{name} {state}.{again}", reason.change if reason else "nothing, it starts by itself"
        case Held(by=None) if job.reason:
            return f"{name} is held: {job.reason}.", f"muster move {name} --to CLUSTER, or ask an admin"
        case Held(by=by):
            return f"{name} is held{f' by {by}' if by else ''}.", f"muster resume {name}"
        case Starting():
            late = [task.name for task in tasks if task.started_at is None]
            what = f"is {reason.message}" if reason else f"is starting; not running yet: {', '.join(late) or 'none'}"
            return f"{name} {what}.", reason.change if reason else f"muster logs -f {name}"
        case Running(since=since):
            return f"{name} has been running for {format_duration(round(now - since))}.", f"muster logs -f {name}"
        case Stopping(verdict=verdict):
            left = [task.name for task in tasks if not task.has_ended]
            why = f" ({verdict.reason})" if verdict.reason else ""
            return f"{name} is stopping{why}; still there: {', '.join(left) or 'none'}.", "wait for its end"
        case Succeeded():
            return f"{name} succeeded.", f"muster logs {name}"
        case Failed(fault=failure):
            where = f" in {failure.task}" if failure.task else ""
            return f"{name} failed{where}: {failure.cause}", failure.advice or f"muster logs {name}"
        case Cancelled(by=by):
            if job.reason and not (by and job.reason == killed_by(by)):
                return f"{name} was cancelled: {job.reason.rstrip('.')}.", f"muster retry {name}"
            return f"{name} was killed{f' by {by}' if by else ''}.", f"muster retry {name}"
        case _:
            assert_never(job.state)


async def _stops(context: Context, job: Job) -> dict[int, str]:
    """Returns why each attempt was stopped."""
    events = await context.store.events(job_id=job.id, prefix="job.stopping", limit=_MOST_STOPS)
    return {int(event.data["attempt"]): str(event.data.get("reason") or "") for event in events}


def _attempts(tasks: Sequence[Task], stops: Mapping[int, str]) -> list[AttemptStory]:
    stories = []
    for attempt in sorted({task.attempt for task in tasks}):
        members = [task for task in tasks if task.attempt == attempt]
        starts = [task.started_at for task in members if task.started_at is not None]
        ends = [task.ended_at for task in members if task.ended_at is not None]
        begin, end = min(starts, default=None), max(ends, default=None)
        why = "" if _causes(members) else stops.get(attempt, "")
        stories.append(AttemptStory(attempt, begin, end, _outcome(members, why), why))
    return stories


def _causes(members: Sequence[Task]) -> list[str]:
    return [task.state.fault.cause for task in members if isinstance(task.state, TaskFailed | TaskLost)]


def _outcome(members: Sequence[Task], why: str) -> str:
    """The tasks that failed, with the cause of the first; or the states of all, and why they were stopped."""
    causes = _causes(members)
    if not causes:
        states = ", ".join(sorted({task.state_name for task in members}))
        return f"{states}: {why}" if why else states
    broken = [f"{task.name} {task.state_name}" for task in members if isinstance(task.state, TaskFailed | TaskLost)]
    return f"{', '.join(broken)}: {causes[0]}" if causes[0] else ", ".join(broken)


async def _evidence(
    context: Context, reader: LogReader, job: Job, tasks: Sequence[Task], fault: Fault | None
) -> list[str]:
    culprit = next((task for task in reversed(tasks) if fault is not None and task.name == fault.task), None)
    if culprit is None:
        return []
    text = ""
    try:
        offset = await reader.start_of_tail(culprit, job.cluster, 200)
        async for piece in reader.pieces(culprit, job.cluster, offset, follow=False):
            text = (text + piece.payload_text())[-TAIL_BYTES:]
    except MusterError:
        return []  # its node is unreachable, or the log has been removed: the cause is shown without it
    return evidence(text)
