"""Composes the command, environment and files of all tasks of a gang.

If a variable is set in several places, role.env overrides spec.env, which overrides the platform. Users cannot override
two families: the MUSTER_* variables that identify a task (history, logs and peers rely on them), and the variables for
visible devices (a task could otherwise use GPUs that are allocated to another job).
"""

from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.specs import IMAGE_WORKDIR, Framework, JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.devices import visible_devices
from muster.launch.endpoints import worker_rank
from muster.launch.folder_paths import mounts_of
from muster.launch.frameworks import RECIPES
from muster.launch.frameworks.mpi import HOSTFILE, hostfile
from muster.launch.mlflow_access import mlflow_secrets, mlflow_variables
from muster.launch.muster_variables import muster_variables
from muster.launch.package_places import package_command, package_variables
from muster.launch.root_files import TRAINER_COUNT, TRAINER_ID, root_files
from muster.launch.runtimes import runtime_command, runtime_environment
from muster.launch.setups import setup_command, setup_files, setup_use
from muster.launch.shells import shell_command
from muster.launch.ssh_access import ssh_command, ssh_files, ssh_hosts, ssh_ports, ssh_secrets, ssh_variables

_TERM = "xterm-256color"


def ports_needed(spec: JobSpec, role: Role, index: int) -> int:
    """The number of free ports to reserve on the node of this task, before it is composed."""
    return RECIPES[spec.framework].ports(spec, role, index) + ssh_ports(spec) + role.ports


def compose(gang: Gang, *, conda_root: str | None = None, address: str = "") -> GangLaunch:
    """The request of every task. `address` is where tasks reach the server. A task with fewer ports than it needs is a
    ValueError: the caller assigned addresses by another rule than `ports_needed`."""
    for task in gang.tasks:
        _check_ports(gang.spec, task)
    composer = _Composer(gang, conda_root, address)
    return GangLaunch(gang, tuple(composer.composed(task) for task in gang.tasks))


class _Composer:
    """Computes once what all tasks of a gang have in common."""

    def __init__(self, gang: Gang, conda_root: str | None, address: str) -> None:
        spec = gang.spec
        self._gang = gang
        self._address = address
        self._mounts = mounts_of(spec)
        self._commands = {
            role.name: package_command(
                spec, runtime_command(spec.runtime, conda_root, setup_command(spec, ssh_command(spec, _argv(role))))
            )
            for role in spec.roles
        }
        mounted = any(not mount.target.startswith("/") for mount in spec.mounts)
        self._uses_own_folder = bool(spec.package or spec.inputs or spec.outputs or mounted)
        self._runtime = runtime_environment(spec.runtime, conda_root)
        self._framework_variables = RECIPES[spec.framework].environment(gang)
        self._muster_variables = muster_variables(gang)
        self._files = {TRAINER_COUNT: f"{len(gang.workers)}\n", **setup_files(spec), **ssh_files(gang)}
        self._root_files = root_files(spec)
        self._ssh_hosts = ssh_hosts(gang)
        self._setups = {role.name: setup_use(spec, role, gang.key) for role in spec.roles}
        if spec.framework is Framework.MPI:
            self._files[HOSTFILE] = hostfile(gang)

    def composed(self, task: Task) -> LaunchRequest:
        spec = self._gang.spec
        role = spec.role(task.role)
        return LaunchRequest(
            task_id=task.id,
            node=task.placement.node,
            argv=self._commands[role.name],
            env=self._environment(role, task),
            owner=self._gang.owner,
            files=self._files_of(task),
            ports=task.placement.ports,
            devices=task.placement.devices,
            extended=task.placement.extended,
            memory_bytes=role.resources.memory_bytes or None,
            cpu_m=role.resources.cpu_m or None,
            package=spec.package,
            inputs=spec.inputs,
            image=spec.runtime.image,
            mounts=self._mounts.binds,
            links=self._mounts.links,
            secrets=(*spec.secrets, *ssh_secrets(spec), *mlflow_secrets(spec, role)),
            stdin=role.stdin,
            tty=role.tty,
            setup=self._setups[role.name],
            args=role.args,
            workdir=spec.runtime.workdir or self._entry_point_workdir(role),
            pull_secret=spec.runtime.pull_secret,
            root_files=self._root_files,
            ssh_hosts=self._ssh_hosts,
        )

    def _entry_point_workdir(self, role: Role) -> str | None:
        """An entry point starts where its image says, unless the job brings files of its own."""
        return None if role.command or self._uses_own_folder else IMAGE_WORKDIR

    def _environment(self, role: Role, task: Task) -> dict[str, str]:
        spec = self._gang.spec
        return {
            "PYTHONUNBUFFERED": "1",  # otherwise the last lines before a crash stay in a buffer
            **({"TERM": _TERM} if role.tty else {}),
            **self._runtime,
            **self._framework_variables(task),
            **spec.env,
            **role.env,
            **mlflow_variables(self._gang, role, self._address),
            **package_variables(spec, {**spec.env, **role.env}.get("PYTHONPATH")),
            **visible_devices(task.placement, role.resources.gpus),
            **self._muster_variables(task),
            **ssh_variables(spec, task),
        }

    def _files_of(self, task: Task) -> dict[str, str]:
        """The files `trainer_id` and `trainer_count`, from which a program computes its part of the input files. A
        parameter server has no such part; its `trainer_id` is its index among the servers."""
        rank = worker_rank(self._gang, task)
        return {TRAINER_ID: f"{task.index if rank is None else rank}\n", **self._files}


def _argv(role: Role) -> tuple[str, ...]:
    return shell_command(role.command[-1]) if role.is_line else role.command


def _check_ports(spec: JobSpec, task: Task) -> None:
    needed = ports_needed(spec, spec.role(task.role), task.index)
    if len(task.placement.ports) != needed:
        raise ValueError(f"task {task.name} was placed with {len(task.placement.ports)} ports and needs {needed}")
