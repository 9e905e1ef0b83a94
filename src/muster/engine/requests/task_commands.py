"""Commands that people run in tasks, and attachments to tasks: which task is meant, whether that is possible now, and
the audit event."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import Conflict
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.requests.running_tasks import running_task
from muster.engine.state.event_builders import audit_event
from muster.ports.capabilities import CommandSession, TaskRef, Terminal, required
from muster.ports.store import Change


@dataclass(frozen=True, slots=True)
class OpenCommand:
    task: Task
    tasks: int
    """How many tasks the job has now."""
    session: CommandSession
    has_terminal: bool


@asynccontextmanager
async def run_in_task(
    context: Context, job: Job, worker: str | None, argv: Sequence[str], terminal: Terminal | None, actor: str
) -> AsyncIterator[OpenCommand]:
    """Run a command in a task of the job, the first one if none is named. The audit event says who did so and where,
    but not what: people type secrets."""
    commands = required(context.backend_of(job).capabilities.task_commands, "task-commands", job.cluster)
    task, tasks = running_task(context, job, worker, "a command can run in a running task only")
    await _record(context, "job.exec", actor, job, task)
    async with commands.run(TaskRef.of(task), argv, terminal) as session:
        yield OpenCommand(task, tasks, session, terminal is not None)


@asynccontextmanager
async def attach_to_task(
    context: Context, job: Job, worker: str | None, tail: int | None, terminal: Terminal | None, actor: str
) -> AsyncIterator[OpenCommand]:
    """Attach to a task of the job whose role has standard input, the first such one if none is named."""
    capabilities = context.backend_of(job).capabilities
    attachments = required(capabilities.task_attachments, "task-attachments", job.cluster)
    interactive = [role.name for role in job.spec.roles if role.stdin]
    if worker is None and interactive and job.spec.roles[0].name != interactive[0]:
        worker = f"{interactive[0]}-0"
    task, tasks = running_task(context, job, worker, "you can attach to a running task only")
    role = job.spec.role(task.role)
    if not role.stdin:
        raise Conflict(
            f"{task.name} was started without standard input",
            hint=f"`muster logs -f {job.name}` follows its output, and `muster shell {job.name}` opens a shell in it",
        )
    await _record(context, "job.attach", actor, job, task)
    async with attachments.attach(TaskRef.of(task), terminal, tail) as session:
        yield OpenCommand(task, tasks, session, role.tty)


async def _record(context: Context, what: AuditKind, actor: str, job: Job, task: Task) -> None:
    event = audit_event(what, actor, context.clock(), job=job, task=task.name, node=task.placement.node)
    await context.apply(Change(events=[event]))
