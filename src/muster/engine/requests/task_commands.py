"""Commands that people run in tasks: which task is meant, whether one can run in it, and the audit event."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from muster.domain.errors import Conflict
from muster.domain.jobs import Job
from muster.domain.tasks import Task, TaskRunning
from muster.engine.context import Context
from muster.engine.data.following import check_workers
from muster.engine.state.event_builders import audit_event
from muster.ports.capabilities import CommandSession, TaskRef, Terminal, required
from muster.ports.store import Change


@dataclass(frozen=True, slots=True)
class OpenCommand:
    task: Task
    tasks: int
    """How many tasks the job has now."""
    session: CommandSession


@asynccontextmanager
async def run_in_task(
    context: Context, job: Job, worker: str | None, argv: Sequence[str], terminal: Terminal | None, actor: str
) -> AsyncIterator[OpenCommand]:
    """Run a command in a task of the job, the first one if none is named. The audit event says who did so and where,
    but not what: people type secrets."""
    commands = required(context.backends[job.cluster].capabilities.task_commands, "task-commands", job.cluster)
    if worker is not None:
        check_workers(job, (worker,))
    entry = context.open_jobs.get(job.id)
    if entry is None:
        raise _not_running(job)
    tasks = sorted(entry.tasks.values(), key=lambda task: task.rank)
    task = next((one for one in tasks if worker in (None, one.name, f"{one.role}-{one.index}")), None)
    if task is None:
        raise _not_running(job)
    if not isinstance(task.state, TaskRunning):
        raise Conflict(
            f"{task.name} is {task.state_name}, and a command can run in a running task only",
            hint=f"`muster explain {job.name}` says what the job waits for, `muster get workers {job.name}` which run",
        )
    event = audit_event("job.exec", actor, context.clock(), job=job, task=task.name, node=task.placement.node)
    await context.apply(Change(events=[event]))
    async with commands.run(TaskRef.of(task), argv, terminal) as session:
        yield OpenCommand(task, len(tasks), session)


def _not_running(job: Job) -> Conflict:
    what = "has ended" if job.is_final else f"is {job.state_name}"
    hint = f"`muster logs {job.name}` prints what it said" if job.is_final else f"`muster explain {job.name}` says why"
    return Conflict(f"job {job.name} {what}, and a command can run in a running task only", hint=hint)
