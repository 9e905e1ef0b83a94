"""The whole gang at once: what every task is started with.

Who wins over whom, for a variable that several set: platform < spec.env < role.env. Two families are not the user's to
change: MUSTER_* that say who a task is (history, logs and peers rely on them), and the device variables (a task that
widened its own would compute on cards that are allotted to somebody else).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster.domain.specs import Framework, Input, JobSpec, Mount, Role
from muster.domain.tasks import Task
from muster.launch.devices import visible_devices
from muster.launch.folder_paths import mounted
from muster.launch.frameworks import RECIPES
from muster.launch.frameworks.mpi import HOSTFILE, hostfile
from muster.launch.gang import Gang, muster_gang, worker_rank
from muster.launch.identity import identity
from muster.launch.runtimes import runtime_command, runtime_environment


@dataclass(frozen=True, slots=True)
class Composed:
    task_id: str
    node: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    memory_bytes: int | None = None
    cpu_m: int | None = None
    package_digest: str | None = None
    inputs: tuple[Input, ...] = ()
    image: str | None = None
    mounts: tuple[Mount, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)


def ports_needed(spec: JobSpec, role: Role, index: int) -> int:
    """How many free ports to reserve where this task is placed, before it is composed."""
    return RECIPES[spec.framework].ports(spec, role, index) + role.ports


def compose(
    job_id: str,
    owner: str,
    cluster: str,
    attempt: int,
    spec: JobSpec,
    tasks: Sequence[Task],
    *,
    conda_root: str | None = None,
) -> list[Composed]:
    """One per task, in the order of `tasks`. A task with fewer ports than it needs is a ValueError: the caller
    reserved by another rule than `ports_needed`."""
    for task in tasks:
        _check_ports(spec, task)
    composer = _Composer(muster_gang(job_id, owner, cluster, attempt, spec, tasks), conda_root)
    return [composer.composed(task) for task in tasks]


class _Composer:
    """Finds out once what is the same for all tasks of a gang."""

    def __init__(self, gang: Gang, conda_root: str | None) -> None:
        spec = gang.spec
        self._gang = gang
        self._places = mounted(spec)
        self._commands = {role.name: runtime_command(spec.runtime, conda_root, role.command) for role in spec.roles}
        self._runtime = runtime_environment(spec.runtime, conda_root)
        self._of_framework = RECIPES[spec.framework].environment(gang)
        self._identity = identity(gang)
        self._files = {"trainer_count": f"{len(gang.workers)}\n"}
        if spec.framework is Framework.MPI:
            self._files[HOSTFILE] = hostfile(gang)

    def composed(self, task: Task) -> Composed:
        spec = self._gang.spec
        role = spec.role(task.role)
        return Composed(
            task_id=task.id,
            node=task.placement.node,
            argv=self._commands[role.name],
            env=self._environment(role, task),
            files=self._files_of(task),
            ports=task.placement.ports,
            devices=task.placement.devices,
            memory_bytes=role.resources.memory_bytes or None,
            cpu_m=role.resources.cpu_m or None,
            package_digest=spec.package,
            inputs=spec.inputs,
            image=spec.runtime.image,
            mounts=self._places.binds,
            links=self._places.links,
        )

    def _environment(self, role: Role, task: Task) -> dict[str, str]:
        return {
            "PYTHONUNBUFFERED": "1",  # or the last lines before a crash stay in a buffer
            **self._runtime,
            **self._of_framework(task),
            **self._gang.spec.env,
            **role.env,
            **visible_devices(task.placement, role.resources.gpus),
            **self._identity(task),
        }

    def _files_of(self, task: Task) -> dict[str, str]:
        """`trainer_id` and `trainer_count`, by which a program takes its share of the input files; a ps takes none and
        finds its index among the servers."""
        rank = worker_rank(self._gang, task)
        return {"trainer_id": f"{task.index if rank is None else rank}\n", **self._files}


def _check_ports(spec: JobSpec, task: Task) -> None:
    needed = ports_needed(spec, spec.role(task.role), task.index)
    if len(task.placement.ports) != needed:
        raise ValueError(f"task {task.name} was placed with {len(task.placement.ports)} ports and needs {needed}")
