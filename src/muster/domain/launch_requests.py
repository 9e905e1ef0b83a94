"""Launch requests to a backend. `launch` composes them, `--dry-run` shows them, and they are sent unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from muster.domain.gangs import Gang
from muster.domain.resources import ExtendedDevice
from muster.domain.specs import Input, Mount, SecretUse


@dataclass(frozen=True, slots=True)
class SetupUse:
    """What a task shares with others that have the same setup. One that is not kept is removed with its last task."""

    command: tuple[str, ...]
    key: str
    is_kept: bool


@dataclass(frozen=True, slots=True)
class HostName:
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class RootFiles:
    """What a task finds at the root of a file system that is its own: in a container, a pod or a namespace. Nothing is
    put at the root of a node."""

    read: tuple[str, ...] = ()
    """Those of the files of its folder that it finds there, too."""
    written: tuple[str, ...] = ()
    """The files that it may write there, although the root itself may belong to somebody else."""
    covers_image: bool = False
    """Whether a file that it may write may hide one of the image with the same name."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Everything that one task is started with. Archives are named by their digests; a backend gets their bytes from
    the `Archives` that it was constructed with."""

    task_id: str
    node: str
    argv: tuple[str, ...]
    """Empty if the image's own entry point is to run."""
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    extended: tuple[ExtendedDevice, ...] = ()
    """The devices other than GPUs that the task gets."""
    memory_bytes: int | None = None
    cpu_m: int | None = None
    package: str | None = None
    inputs: tuple[Input, ...] = ()
    image: str | None = None
    """The image of the container in which the task runs. The node decides which container engine runs it."""
    mounts: tuple[Mount, ...] = ()
    """The folders of the node that the container sees besides the task's folder, with absolute sources and targets."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links to create in the working directory: name → path on the node."""
    owner: str = ""
    """The user whose job it is."""
    secrets: tuple[SecretUse, ...] = ()
    """The secrets that the task gets. Their values are not part of the request, which people may see."""
    stdin: bool = False
    """Whether standard input stays open, for those who attach to the task."""
    tty: bool = False
    """Whether the task runs at a terminal."""
    setup: SetupUse | None = None
    """The setup that runs before the command, which is part of `argv`."""
    args: tuple[str, ...] = ()
    """The arguments of the image's own entry point. Empty if they are the image's own, too."""
    workdir: str | None = None
    """Where the container starts: IMAGE_WORKDIR or an absolute path in it. None: in the task's working directory."""
    pull_secret: str | None = None
    """The secret with the credentials for the registry of the image. Its value is not part of the request."""
    root_files: RootFiles = field(default_factory=RootFiles)
    ssh_hosts: tuple[HostName, ...] | None = None
    """The names of its peers that programs resolve. None if the task has no SSH server."""

    @property
    def gang_key(self) -> str:
        return self.task_id.rsplit(".", 2)[0]

    @property
    def digests(self) -> tuple[str, ...]:
        """The digests of the archives that the node needs before it can start the task."""
        inputs = tuple(given.digest for given in self.inputs)
        return inputs if self.package is None else (self.package, *inputs)


@dataclass(frozen=True)
class GangLaunch:
    """A gang with the launch request of each of its tasks, in the order of `gang.tasks`."""

    gang: Gang
    requests: tuple[LaunchRequest, ...]
    started: frozenset[str] = frozenset()
    """The tasks that have already started. After a crash only the others are launched."""
    secret_values: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The values of the secrets, by name, as they are at this launch. They are stored nowhere."""

    @cached_property
    def pending(self) -> tuple[LaunchRequest, ...]:
        if not self.started:
            return self.requests
        return tuple(request for request in self.requests if request.task_id not in self.started)
