"""Connections that people make to ports of tasks: which task is meant, and the audit event."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.requests.running_tasks import running_task
from muster.engine.state.event_builders import audit_event
from muster.lib.recent import Recent
from muster.ports.capabilities import TaskConnection, TaskRef, required
from muster.ports.store import Change


@dataclass(frozen=True, slots=True)
class OpenConnection:
    task: Task
    tasks: int
    """How many tasks the job has now."""
    connection: TaskConnection


@asynccontextmanager
async def connected_to_task(
    context: Context, job: Job, worker: str | None, port: int, actor: str, recent: Recent
) -> AsyncIterator[OpenConnection]:
    """Connect to a port of a task, the first one if none is named. The audit event says who did so and where. A page
    needs dozens of connections, so that those to the same port are recorded once in a while only."""
    context.backend_of(job)
    task, tasks = running_task(context, job, worker, "ports can be reached in a running task only")
    async with to_task(context, job, task, port) as connection:
        if recent.is_new(f"{actor} {task.id} {port}", context.clock()):
            now, node = context.clock(), task.placement.node
            event = audit_event("job.port-forward", actor, now, job=job, task=task.name, node=node, port=port)
            await context.apply(Change(events=[event]))
        yield OpenConnection(task, tasks, connection)


@asynccontextmanager
async def to_task(context: Context, job: Job, task: Task, port: int) -> AsyncIterator[TaskConnection]:
    """Nothing is recorded: whoever calls this has recorded that somebody looks at the job."""
    connections = required(context.backend_of(job).capabilities.task_connections, "task-connections", job.cluster)
    async with connections.connect(TaskRef.of(task), port) as connection:
        yield connection
