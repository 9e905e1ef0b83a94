"""Rolls back an attempt whose nodes could not be prepared.

Nothing was started, so the attempt ends at once. The failure counts against the user or the platform, and the job is
tried again if that can help.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from muster.domain.completion import failure_verdict
from muster.domain.elastic import spec_of_attempt
from muster.domain.errors import MusterError, StaleWrite, Unavailable
from muster.domain.failures.diagnosis import classify
from muster.domain.gangs import Gang, make_gang
from muster.domain.jobs import Starting
from muster.domain.tasks import Task, TaskFailed, TaskLaunching, TaskStopped, move_task
from muster.engine.context import Context
from muster.engine.lifecycle.completion import RETRY_S, log_name, stop
from muster.engine.state.event_builders import task_event
from muster.engine.state.open_jobs import Entry
from muster.ports.capabilities import PortReservations, Unready

_log = structlog.get_logger("engine.rollback")


async def roll_back(context: Context, entry: Entry, unready: Sequence[Unready]) -> None:
    """End the attempt: tasks on unready nodes have failed, and the others that were not launched are stopped. Their
    ports are released."""
    attempt = entry.job.attempt
    async with entry.lock:
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
            _log.warning("rollback not written, will try again", job=entry.job.id, error=str(error))
            context.later(RETRY_S, lambda: roll_back(context, entry, unready), f"roll_back {entry.job.id}")
            return
    reserved = tuple(task for task in ended if task.placement.ports)
    release_ports(context, replace(gang, tasks=reserved), entry.job.cluster)


async def _ended(context: Context, task: Task, failed: dict[str, Unready]) -> Task:
    """The task as it ends, with an empty log: it never ran, so its node need not be asked for one."""
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
        return None  # the server's disk is full, and an empty log is no loss
    return log_name(task)


def release_ports(context: Context, gang: Gang, cluster: str) -> None:
    """Release the ports in the background. A node that does not answer is not waited for, and its next agent has no
    reservations."""
    ports = context.backends[cluster].capabilities.ports
    if ports is not None and gang.tasks:
        context.spawn(_release(ports, gang), f"ports {gang.key}")


async def _release(ports: PortReservations, gang: Gang) -> None:
    try:
        await ports.release(gang)
    except MusterError as error:
        _log.debug("ports not released", gang=gang.key, error=str(error))
