"""A gang: all tasks of one attempt, in the order of roles in the spec and of indices inside a role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster.domain.specs import PS_ROLE, JobSpec
from muster.domain.tasks import Task


@dataclass(frozen=True)
class Gang:
    """The tasks of one attempt, which are placed, launched and stopped together."""

    job_id: str
    owner: str
    cluster: str
    """The name of the cluster in the spec: the virtual cluster, if there is one."""
    attempt: int
    spec: JobSpec
    tasks: tuple[Task, ...]

    @property
    def key(self) -> str:
        """Identifies this attempt. A backend acts only once on requests with the same key."""
        return f"{self.job_id}.{self.attempt}"

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


def index_by_id(tasks: Sequence[Task]) -> dict[str, int]:
    """The index of each task in the sequence, by task id."""
    return {task.id: position for position, task in enumerate(tasks)}


def host(task: Task) -> str:
    return task.placement.address or task.placement.node
