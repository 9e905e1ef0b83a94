"""The shape of a gang: everything that placement asks about it. Jobs of one shape fit on the same nodes, so the answer
for one of them serves all."""

from dataclasses import dataclass, field

from muster.domain.resources import Resources, times, total
from muster.domain.specs import Spread, Where
from muster.scheduling.demand import JobDemand, TaskDemand


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that ask for the same."""

    want: Resources
    members: tuple[tuple[str, int], ...]
    """The role and index of each task."""


@dataclass(eq=False, slots=True)
class Shape:
    """Shapes are compared by identity, because `Shapes` makes each only once."""

    groups: tuple[Group, ...]
    where: Where
    gpu_m: int
    """The GPUs of the whole gang, in thousandths."""
    gpus: float
    """What service is counted by: the GPUs of the whole gang, where a job without GPUs counts as one."""
    has_whole_gpus: bool
    """Whether it wants GPUs, and no task wants only a part of one."""
    cpu_m: int
    memory_bytes: int
    tasks: int
    whole: Resources | None
    """The gang as one task, if it could run on one node: its GPUs are whole and of the same models."""
    one: TaskDemand | None
    """The task, if there is only one."""
    gpu_models: tuple[str, ...]
    """The models that the hardest task with GPUs accepts."""
    need: int
    """GPUs on one node, of the task that wants most. A part of a GPU counts as none, and is looked at in detail."""
    number: int = 0
    where_key: tuple[object, ...] = ()
    is_plain: bool = True
    """Whether any node will do, however the tasks are spread."""


@dataclass(slots=True)
class Shapes:
    """All shapes that were ever asked for, each of them once."""

    _known: dict[tuple[object, ...], Shape] = field(default_factory=dict)

    def of(self, job: JobDemand) -> Shape:
        tasks, where = job.tasks, job.where
        where_key = _where_key(where)
        key = (tasks, where_key)
        shape = self._known.get(key)
        if shape is None:
            shape = self._known[key] = _shape(tasks, where, len(self._known), where_key)
        return shape


def _where_key(where: Where) -> tuple[object, ...]:
    labels = tuple(sorted(where.labels.items())) if where.labels else ()
    return where.nodes, where.not_nodes, labels, where.spread, where.together


def _shape(tasks: tuple[TaskDemand, ...], where: Where, number: int, where_key: tuple[object, ...]) -> Shape:
    members: dict[Resources, list[tuple[str, int]]] = {}
    for task in tasks:
        members.setdefault(task.resources, []).append((task.role, task.index))
    groups = tuple(Group(want, tuple(members[want])) for want in sorted(members, key=_difficulty, reverse=True))
    gpu_m = sum(task.resources.gpu_m for task in tasks)
    return Shape(
        groups=groups,
        where=where,
        gpu_m=gpu_m,
        gpus=gpu_m / 1000 or 1.0,
        has_whole_gpus=gpu_m > 0 and not any(group.want.shares_gpu for group in groups),
        cpu_m=sum(task.resources.cpu_m for task in tasks),
        memory_bytes=sum(task.resources.memory_bytes for task in tasks),
        tasks=len(tasks),
        whole=_as_one(groups, where),
        one=tasks[0] if len(tasks) == 1 else None,
        gpu_models=next((group.want.gpu_models for group in groups if group.want.gpus), ()),
        need=0 if groups[0].want.shares_gpu else groups[0].want.gpus,
        number=number,
        where_key=where_key,
        is_plain=not (where.nodes or where.not_nodes or where.labels or where.together) and where.spread is Spread.PACK,
    )


def _as_one(groups: tuple[Group, ...], where: Where) -> Resources | None:
    models = {group.want.gpu_models for group in groups if group.want.gpus}
    if len(models) > 1 or any(group.want.shares_gpu for group in groups):
        return None
    if where.spread is Spread.APART and sum(len(group.members) for group in groups) > 1:
        return None
    return Resources(
        sum(group.want.cpu_m * len(group.members) for group in groups),
        sum(group.want.memory_bytes * len(group.members) for group in groups),
        sum(group.want.gpus * len(group.members) for group in groups),
        next(iter(models), ()),
        extended=total(times(group.want.extended, len(group.members)) for group in groups),
    )


def _difficulty(want: Resources) -> tuple[bool, bool, bool, int, int, int]:
    """The order of placement: a task that accepts any model must not take the only GPUs that another one accepts, nor
    one without other devices the node that has those."""
    return want.gpus > 0, bool(want.extended), bool(want.gpu_models), want.gpu_m, want.cpu_m, want.memory_bytes
