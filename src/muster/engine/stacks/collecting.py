"""Collects stacks from running tasks. What a task says of itself is a text like its log, and no more to be trusted."""

import asyncio
import re
from contextlib import aclosing

from muster.domain.errors import Conflict, MusterError
from muster.domain.job_stacks import Stacks, TaskStacks
from muster.domain.jobs import Job
from muster.domain.tasks import Task, TaskRunning
from muster.engine.context import Context
from muster.engine.requests.running_tasks import running_task
from muster.engine.stacks.script import COMMAND
from muster.engine.state.event_builders import audit_event
from muster.ports.capabilities import CommandEnd, TaskCommands, TaskRef, required
from muster.ports.store import Change

MOST_TASKS = 16
_WITHIN_S = 30.0
_MOST_BYTES = 256 << 10
_WHAT = "only a running task has stacks"
_CONTROL = re.compile(r"[^\n\x20-\x7e\u00a0-\U0010ffff]")


async def collect(context: Context, job: Job, worker: str | None, actor: str) -> Stacks:
    """Collect the stacks of one task, or of all that run. Raises Conflict if none does."""
    commands = required(context.backend_of(job).capabilities.task_commands, "task-commands", job.cluster)
    chosen = [running_task(context, job, worker, _WHAT)[0]] if worker is not None else _running(context, job)
    asked = chosen[:MOST_TASKS]
    event = audit_event("job.stacks", actor, context.clock(), job=job, tasks=", ".join(task.name for task in asked))
    await context.apply(Change(events=[event]))
    found = await asyncio.gather(*(_of_task(commands, task) for task in asked))
    return Stacks(context.clock(), actor, job.attempt, tuple(found), len(chosen) - len(asked))


def _running(context: Context, job: Job) -> list[Task]:
    entry = context.open_jobs.get(job.id)
    tasks = [] if entry is None else sorted(entry.current_tasks(), key=lambda task: task.rank)
    running = [task for task in tasks if isinstance(task.state, TaskRunning)]
    if not running:
        raise Conflict(
            f"job {job.name} has no running task, and {_WHAT}",
            hint=f"`muster stacks {job.name} --kept` shows what was collected before",
        )
    return running


async def _of_task(commands: TaskCommands, task: Task) -> TaskStacks:
    where = (task.name, task.placement.node)
    try:
        async with asyncio.timeout(_WITHIN_S):
            text = await _said(commands, task)
    except TimeoutError:
        return TaskStacks(*where, problem=f"the task did not answer within {_WITHIN_S:g} s")
    except MusterError as error:
        return TaskStacks(*where, problem=error.message)
    return TaskStacks(*where, text=text)


async def _said(commands: TaskCommands, task: Task) -> str:
    said = bytearray()
    async with commands.run(TaskRef.of(task), COMMAND, None) as session, aclosing(session.output()) as pieces:
        async for piece in pieces:
            if isinstance(piece, CommandEnd) or len(said) >= _MOST_BYTES:
                break
            said += piece.data
    return _CONTROL.sub("?", bytes(said[:_MOST_BYTES]).decode("utf-8", "replace").replace("\r", "")).strip() + "\n"
