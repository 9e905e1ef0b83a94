"""A gang as the frameworks see it: who serves, who trains, in which order, and where each one listens.

Ports of a task come in one order, here and in `ports_needed`: first what the framework needs, then what the user asked
for with `role.ports`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster.domain.specs import PS_ROLE, JobSpec, Role
from muster.domain.tasks import Task

Variables = Callable[[Task], dict[str, str]]
"""Of each task of one gang. Every task is told of all others: whoever makes one finds out before what is the same for
all of them, or a gang of a thousand tasks takes a million steps."""


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
        """Every task that trains: all but the parameter servers, or all when there is nothing else."""
        names = training_roles(self.spec)
        return tuple(task for task in self.tasks if task.role in names)

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The places of the workers, by the tasks' ids."""
        return numbered(self.workers)

    @property
    def lead(self) -> Task:
        """Rank 0 of a collective: where masters and coordinators listen."""
        return self.workers[0]

    def of_role(self, name: str) -> tuple[Task, ...]:
        return self._by_role.get(name, ())

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Addresses of the nodes, each once, in the order of tasks."""
        return tuple(dict.fromkeys(host(task) for task in self.tasks))

    @cached_property
    def _by_role(self) -> Mapping[str, tuple[Task, ...]]:
        found: dict[str, list[Task]] = {}
        for task in self.tasks:
            found.setdefault(task.role, []).append(task)
        return {name: tuple(tasks) for name, tasks in found.items()}


def muster_gang(job_id: str, owner: str, cluster: str, attempt: int, spec: JobSpec, tasks: Sequence[Task]) -> Gang:
    order = {role.name: place for place, role in enumerate(spec.roles)}
    ordered = tuple(sorted(tasks, key=lambda task: (order[task.role], task.index)))
    return Gang(job_id, owner, cluster, attempt, spec, ordered)


def training_roles(spec: JobSpec) -> tuple[str, ...]:
    names = tuple(role.name for role in spec.roles if role.replicas and role.name != PS_ROLE)
    return names or tuple(role.name for role in spec.roles)


def is_lead(spec: JobSpec, role: Role, index: int) -> bool:
    """Whether this will be the first worker; known before anything is placed."""
    return index == 0 and role.name == training_roles(spec)[0]


def worker_rank(gang: Gang, task: Task) -> int | None:
    """The place among the workers; None for a parameter server, which is no member of the collective."""
    return gang.ranks.get(task.id)


def numbered(tasks: Sequence[Task]) -> dict[str, int]:
    """The place of each among them, by its id."""
    return {task.id: place for place, task in enumerate(tasks)}


def host(task: Task) -> str:
    return task.placement.address or task.placement.node


def endpoint(task: Task, port: int = 0) -> str:
    """`host:port`, by the place of the port among the task's ports."""
    address = host(task)
    bracketed = f"[{address}]" if ":" in address else address
    return f"{bracketed}:{port_of(task, port)}"


def port_of(task: Task, place: int) -> int:
    ports = task.placement.ports
    if place >= len(ports):
        raise ValueError(f"task {task.name} was placed with {len(ports)} ports and needs at least {place + 1}")
    return ports[place]


def joined(tasks: Sequence[Task]) -> str:
    """The comma list of endpoints that most frameworks read."""
    return ",".join(endpoint(task) for task in tasks)


def gpu_count(gang: Gang, task: Task) -> int:
    """Cards of the task. Where an engine places tasks, device indices are its affair and only the count is known."""
    return len(task.placement.devices) or gang.spec.role(task.role).resources.gpus
