"""Ranks, ports, endpoints and GPU counts of the tasks of a gang, as the frameworks need them.

The ports of a task have a fixed order, here and in `ports_needed`: first those of the framework, then that of the
SSH server, then those that the user asked for with `role.ports`.
"""

from collections.abc import Callable, Sequence

from muster.domain.gangs import Gang, host, training_roles
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task

Variables = Callable[[Task], dict[str, str]]
"""Returns the variables of a task. Every task knows all its peers, so what all tasks have in common must be computed
before: otherwise a gang of a thousand tasks would take a million steps."""


def is_lead(spec: JobSpec, role: Role, index: int) -> bool:
    """Whether this task will be the first worker, which is known before the gang is placed."""
    return index == 0 and role.name == training_roles(spec)[0]


def worker_rank(gang: Gang, task: Task) -> int | None:
    """The rank among the workers; None for a parameter server, which is not part of the collective."""
    return gang.ranks.get(task.id)


def endpoint(task: Task, port: int = 0) -> str:
    """`host:port`, where `port` is an index into the task's ports."""
    address = host(task)
    bracketed = f"[{address}]" if ":" in address else address
    return f"{bracketed}:{port_of(task, port)}"


def port_of(task: Task, place: int) -> int:
    ports = task.placement.ports
    if place >= len(ports):
        raise ValueError(f"task {task.name} was placed with {len(ports)} ports and needs at least {place + 1}")
    return ports[place]


def endpoint_list(tasks: Sequence[Task]) -> str:
    """The endpoints separated by commas, as most frameworks read them."""
    return ",".join(endpoint(task) for task in tasks)


def gpu_count(gang: Gang, task: Task) -> int:
    """The number of GPUs of the task. If Slurm or Kubernetes places tasks, only the number is known here."""
    return len(task.placement.devices) or gang.spec.role(task.role).resources.gpus
