"""An attempt whose nodes could not be given what they need: nothing was started, so it ends at once, on the account of
whoever is to blame, and is tried again where that can help.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from muster.domain.completion import failure_verdict
from muster.domain.diagnosis import classify
from muster.domain.elastic import spec_of_attempt
from muster.domain.errors import MusterError, StaleWrite, Unavailable
from muster.domain.gangs import Gang, make_gang
from muster.domain.jobs import Starting
from muster.domain.tasks import Task, TaskFailed, TaskLaunching, TaskStopped, move_task
from muster.engine.context import Context
from muster.engine.lifecycle.completion import RETRY_S, log_name, stop
from muster.engine.state.event_builders import task_event
from muster.engine.state.open_jobs import Entry
from muster.ports.capabilities import PortReservations, Unready

_log = structlog.get_logger("engine.rollback")


async def undo(context: Context, entry: Entry, unready: Sequence[Unready]) -> None:
    """Tasks of the nodes to blame have failed, the others that were not launched are stopped. Their ports are free."""
    attempt = entry.job.attempt
    async with entry.turn:
        if not isinstance(entry.job.state, Starting) or entry.job.attempt != attempt:
            return
        gang = make_gang(entry.job.id, entry.job.owner, "", attempt, spec_of_attempt(entry.job), entry.current_tasks())
        failed = {one.node: one for one in unready}
        launching = [task for task in entry.current_tasks() if isinstance(task.state, TaskLaunching)]
        ended = [await _ended(context, task, failed) for task in launching]
        events = [task_event(task, entry.job.owner, context.clock()) for task in ended]
        first = next(task.state.fault for task in ended if isinstance(task.state, TaskFailed))
        verdict = failure_verdict(entry.job, first)
        try:
            tasks = entry.tasks | {task.id: task for task in ended}
            await stop(context, entry, verdict, tasks=tasks, events=events)
        except (Unavailable, StaleWrite) as error:
            _log.warning("undoing not written, will try again", job=entry.job.id, error=str(error))
            context.later(RETRY_S, lambda: undo(context, entry, unready), f"undo {entry.job.id}")
            return
    reserved = tuple(task for task in ended if task.placement.ports)
    release_ports(context, replace(gang, tasks=reserved), entry.job.cluster)


async def _ended(context: Context, task: Task, failed: dict[str, Unready]) -> Task:
    """With an empty log: it never ran, and nobody need ask its node."""
    now = context.clock()
    task = replace(task, log=await asyncio.to_thread(_empty_log, context, task))
    blamed = failed.get(task.placement.node)
    if blamed is None:
        return move_task(task, TaskStopped(now))
    fault = classify(error_code=blamed.code, error_message=blamed.message)
    return move_task(task, TaskFailed(now, replace(fault, task=task.name)))


def _empty_log(context: Context, task: Task) -> str | None:
    path = context.logs / log_name(task)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        return None  # our own disk is full; there is nothing in it to miss
    return log_name(task)


def release_ports(context: Context, gang: Gang, cluster: str) -> None:
    """In the background: a node that does not answer is not waited for, and its next agent reserves nothing."""
    ports = context.backends[cluster].capabilities.ports
    if ports is not None and gang.tasks:
        context.spawn(_release(ports, gang), f"ports {gang.key}")


async def _release(ports: PortReservations, gang: Gang) -> None:
    try:
        await ports.release(gang)
    except MusterError as error:
        _log.debug("ports not released", gang=gang.key, error=str(error))
