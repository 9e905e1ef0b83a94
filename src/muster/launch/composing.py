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
from muster.launch.frameworks import RECIPES
from muster.launch.frameworks.mpi import HOSTFILE, hostfile
from muster.launch.gang import Gang, muster_gang, worker_rank
from muster.launch.identity import identity
from muster.launch.locating import mounted
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
    gang = muster_gang(job_id, owner, cluster, attempt, spec, tasks)
    return [_compose(gang, task, conda_root) for task in tasks]


def _compose(gang: Gang, task: Task, conda_root: str | None) -> Composed:
    role = gang.spec.role(task.role)
    _check_ports(gang.spec, role, task)
    places = mounted(gang.spec)
    return Composed(
        task_id=task.id,
        node=task.placement.node,
        argv=runtime_command(gang.spec.runtime, conda_root, role.command),
        env=_environment(gang, role, task, conda_root),
        files=_files(gang, task),
        ports=task.placement.ports,
        devices=task.placement.devices,
        memory_bytes=role.resources.memory_bytes or None,
        cpu_m=role.resources.cpu_m or None,
        package_digest=gang.spec.package,
        inputs=gang.spec.inputs,
        image=gang.spec.runtime.image,
        mounts=places.binds,
        links=places.links,
    )


def _check_ports(spec: JobSpec, role: Role, task: Task) -> None:
    needed = ports_needed(spec, role, task.index)
    if len(task.placement.ports) != needed:
        raise ValueError(f"task {task.name} was placed with {len(task.placement.ports)} ports and needs {needed}")


def _environment(gang: Gang, role: Role, task: Task, conda_root: str | None) -> dict[str, str]:
    return {
        "PYTHONUNBUFFERED": "1",  # or the last lines before a crash stay in a buffer
        **runtime_environment(gang.spec.runtime, conda_root),
        **RECIPES[gang.spec.framework].environment(gang, task),
        **gang.spec.env,
        **role.env,
        **visible_devices(task.placement, role.resources.gpus),
        **identity(gang, task),
    }


def _files(gang: Gang, task: Task) -> dict[str, str]:
    """`trainer_id` and `trainer_count`, by which a program takes its share of the input files; a ps takes none and
    finds its index among the servers."""
    rank = worker_rank(gang, task)
    files = {
        "trainer_id": f"{task.index if rank is None else rank}\n",
        "trainer_count": f"{len(gang.workers)}\n",
    }
    if gang.spec.framework is Framework.MPI:
        files[HOSTFILE] = hostfile(gang)
    return files
