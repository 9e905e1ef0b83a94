"""A gang as the frameworks see it: parameter servers and workers in rank order, and the endpoints of each.

The ports of a task have a fixed order, here and in `ports_needed`: first those of the framework, then those that the
user asked for with `role.ports`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster.domain.specs import PS_ROLE, JobSpec, Role
from muster.domain.tasks import Task

Variables = Callable[[Task], dict[str, str]]
"""Returns the variables of a task. Every task knows all its peers, so what all tasks have in common must be computed
before: otherwise a gang of a thousand tasks would take a million steps."""


@dataclass(frozen=True)
class Gang:
    """All tasks of one attempt, in the order of roles in the spec and of indices inside a role."""

    job_id: str
    owner: str
    cluster: str
    attempt: int
    spec: JobSpec
    tasks: tuple[Task, ...]

    @property
    def servers(self) -> tuple[Task, ...]:
        return self.of_role(PS_ROLE)

    @cached_property
    def workers(self) -> tuple[Task, ...]:
        """All tasks but the parameter servers, or all tasks if there are only parameter servers."""
        names = training_roles(self.spec)
        return tuple(task for task in self.tasks if task.role in names)

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The rank of each worker, by task id."""
        return index_by_id(self.workers)

    @property
    def lead(self) -> Task:
        """The worker with rank 0, on which masters and coordinators listen."""
        return self.workers[0]

    def of_role(self, name: str) -> tuple[Task, ...]:
        return self._by_role.get(name, ())

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The distinct addresses of the nodes, in the order of the tasks."""
        return tuple(dict.fromkeys(host(task) for task in self.tasks))

    @cached_property
    def _by_role(self) -> Mapping[str, tuple[Task, ...]]:
        found: dict[str, list[Task]] = {}
        for task in self.tasks:
            found.setdefault(task.role, []).append(task)
        return {name: tuple(tasks) for name, tasks in found.items()}


def make_gang(job_id: str, owner: str, cluster: str, attempt: int, spec: JobSpec, tasks: Sequence[Task]) -> Gang:
    order = {role.name: place for place, role in enumerate(spec.roles)}
    ordered = tuple(sorted(tasks, key=lambda task: (order[task.role], task.index)))
    return Gang(job_id, owner, cluster, attempt, spec, ordered)


def training_roles(spec: JobSpec) -> tuple[str, ...]:
    names = tuple(role.name for role in spec.roles if role.replicas and role.name != PS_ROLE)
    return names or tuple(role.name for role in spec.roles)


def is_lead(spec: JobSpec, role: Role, index: int) -> bool:
    """Whether this task will be the first worker, which is known before the gang is placed."""
    return index == 0 and role.name == training_roles(spec)[0]


def worker_rank(gang: Gang, task: Task) -> int | None:
    """The rank among the workers; None for a parameter server, which is not part of the collective."""
    return gang.ranks.get(task.id)


def index_by_id(tasks: Sequence[Task]) -> dict[str, int]:
    """The index of each task in the sequence, by task id."""
    return {task.id: place for place, task in enumerate(tasks)}


def host(task: Task) -> str:
    return task.placement.address or task.placement.node


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
