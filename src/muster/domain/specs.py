"""The job spec and its roles. A spec is immutable and validated, and knows nothing about file formats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.domain.resources import Resources

ParamValue = str | int | float | bool
PS_ROLE = "ps"
WORKER_ROLE = "worker"
ANY_VALUE = "*"
"""Matches any value of a label in `where.labels`."""
IMAGE_WORKDIR = "image"
"""As `runtime.workdir`, this means the folder that the image itself names as its WORKDIR."""


class Mode(StrEnum):
    SINGLE = "Single"
    PS = "PS"
    COLLECTIVE = "Collective"


class Framework(StrEnum):
    PADDLE = "paddle"
    TORCH = "torch"
    TENSORFLOW = "tensorflow"
    MPI = "mpi"
    JAX = "jax"
    PLAIN = "plain"
    NONE = "none"


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"

    @property
    def rank(self) -> int:
        return list(Priority).index(self)


@dataclass(frozen=True, slots=True)
class Completion:
    """When a role decides the outcome of the job. If `min_failed` is None, failures of this role never end the job. If
    `min_succeeded` is None, successes of this role alone never end it."""

    min_failed: int | None = 1
    min_succeeded: int | None = None


class Needed(StrEnum):
    """The outcome that a dependency must have."""

    SUCCEEDED = "succeeded"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another job of the same owner. A spec names it by name or id; an accepted job refers to it by id."""

    job: str
    on: Needed = Needed.SUCCEEDED


class Spread(StrEnum):
    """How the tasks of a gang are spread over nodes."""

    PACK = "pack"
    """The tasks are packed onto as few nodes as possible."""
    APART = "apart"
    """Every task gets a node of its own."""


class Together(StrEnum):
    """The part of the network in which all tasks of a gang must run, given by the node label that identifies it."""

    ANYWHERE = ""
    RACK = "rack"
    SWITCH = "switch"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Where:
    """Which nodes are acceptable. Empty means any."""

    nodes: tuple[str, ...] = ()
    not_nodes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    spread: Spread = Spread.PACK
    together: Together = Together.ANYWHERE


@dataclass(frozen=True, slots=True)
class Role:
    """`min_replicas` and `max_replicas` make a role elastic: it starts with as many replicas between the two as fit."""

    name: str
    replicas: int
    command: tuple[str, ...]
    """Empty if the image has an entry point of its own, which is to run."""
    args: tuple[str, ...] = field(default=(), kw_only=True)
    """The arguments of that entry point. Empty if they are the image's own, too."""
    is_line: bool = field(default=False, kw_only=True)
    """Whether the command was written as one text. Its last word is that text, and the shell that runs it is chosen
    where the task runs."""
    resources: Resources = field(default_factory=Resources)
    env: Mapping[str, str] = field(default_factory=dict)
    ports: int = 0
    completion: Completion = field(default_factory=Completion)
    min_replicas: int | None = None
    max_replicas: int | None = None
    command_template: tuple[str, ...] = ()
    """The command with its `${params.x}`, if it has any."""
    env_template: Mapping[str, str] = field(default_factory=dict)
    """The variables in which params are used, with their `${params.x}`."""
    args_template: tuple[str, ...] = ()
    """The arguments with their `${params.x}`, if they have any."""
    stdin: bool = False
    """Whether its tasks have a standard input, which stays open for those who attach to them."""
    tty: bool = False
    """Whether its tasks run at a terminal, too."""

    @property
    def is_elastic(self) -> bool:
        return self.min_replicas is not None or self.max_replicas is not None


@dataclass(frozen=True, slots=True)
class Runtime:
    """The environment that provides the interpreter. At most one of the first three fields is set."""

    conda: str | None = None
    venv: str | None = None
    image: str | None = None
    workdir: str | None = None
    """Where a container starts: IMAGE_WORKDIR or an absolute path in it. None: in the task's working directory."""
    pull_secret: str | None = None
    """The secret of the job's owner with the credentials for the registry of the image."""

    @property
    def is_chosen(self) -> bool:
        return bool(self.conda or self.venv or self.image)


@dataclass(frozen=True, slots=True)
class Setup:
    """A command that prepares a node for the tasks of the job. Without `cache` its result is not used by other jobs."""

    command: tuple[str, ...]
    cache: bool = True
    command_template: tuple[str, ...] = ()
    """The command with its `${params.x}`, if it uses params."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the cluster, and where tasks have it. If the job names a storage instead, `source` is empty until a
    cluster has said which of its folders that is."""

    source: str
    target: str
    read_only: bool = False
    storage: str = ""

    @property
    def source_key(self) -> str:
        """The key under which the author of the job has said what to mount."""
        return "storage" if self.storage else "source"


@dataclass(frozen=True, slots=True)
class Input:
    """Files that are not part of the package. `source` is the digest of their archive; followed by a slash and a name,
    it is that one file in it. `target` is their path in the working directory."""

    source: str
    target: str

    @property
    def digest(self) -> str:
        return self.source.partition("/")[0]

    @property
    def member(self) -> str:
        return self.source.partition("/")[2]


@dataclass(frozen=True, slots=True)
class SecretUse:
    """How tasks get a secret of the job's owner: in the variable `env`, or in the file `file` of a private folder. With
    both, the variable is the path of the file."""

    name: str
    env: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """The job file of another system that a spec was translated from, as it was submitted, without its secrets."""

    dialect: str
    text: str


@dataclass(frozen=True, slots=True)
class Ssh:
    """Every task has an SSH server, which takes the key of the job and these public keys, one per line."""

    authorized_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackagePlace:
    """A package that lies on the cluster and is used there. `path` begins with the name of a folder of the cluster, or
    is absolute once the cluster's file was looked at."""

    cluster: str
    path: str


@dataclass(frozen=True, slots=True)
class HandedOn:
    """The attempt of another server's job that a job is. That server decides what becomes of it: it is never tried
    again here, and its tasks know themselves by the names that they have there."""

    server: str
    """The installation that handed it on."""
    cluster: str
    """The name under which that installation knows this cluster."""
    job_id: str
    attempt: int
    owner: str
    via: tuple[str, ...]
    """All installations that it came through, the first one first, `server` among them."""

    @property
    def label(self) -> str:
        return handed_on_label(self.server, self.cluster)


HANDED_ON = "muster.handed-on"
"""The label of jobs that another server has handed on, and of which it wants to know."""


def handed_on_label(server: str, cluster: str) -> str:
    """The value of that label."""
    return f"{server}.{cluster}"


@dataclass(frozen=True, slots=True)
class JobSpec:
    name: str
    roles: tuple[Role, ...]
    cluster: str | None = None
    framework: Framework = Framework.PLAIN
    framework_reason: str = ""
    """Why the framework is this one, if the user did not name it: `the command runs torchrun`."""
    priority: Priority = Priority.NORMAL
    time_limit_s: float | None = None
    grace_s: float = 10.0
    retry_max: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    package: str | None = None
    runtime: Runtime = field(default_factory=Runtime)
    mounts: tuple[Mount, ...] = ()
    gloo: int = 0
    held: bool = False
    after: tuple[Dependency, ...] = ()
    where: Where = field(default_factory=Where)
    preemptible: bool = True
    inputs: tuple[Input, ...] = ()
    outputs: tuple[str, ...] = ()
    """Paths and patterns in the working directory that are collected when a task has ended."""
    secrets: tuple[SecretUse, ...] = ()
    env_template: Mapping[str, str] = field(default_factory=dict)
    """The variables in which params are used, with their `${params.x}`."""
    setup: Setup | None = None
    original: OriginalFile | None = None
    """The file that clients of the other system read again. A spec that was changed since has none."""
    ssh: Ssh | None = None
    package_place: PackagePlace | None = None
    """Set instead of `package`."""
    handed_on: HandedOn | None = None
    """Set if the job is one of another server, which has handed it on."""
    metrics: tuple[str, ...] = ()
    """Patterns of metrics in the log of its first worker."""

    @property
    def mode(self) -> Mode:
        replicas = {role.name: role.replicas for role in self.roles}
        if replicas.get(PS_ROLE):
            return Mode.PS
        return Mode.COLLECTIVE if sum(replicas.values()) > 1 else Mode.SINGLE

    @property
    def task_count(self) -> int:
        return sum(role.replicas for role in self.roles)

    @property
    def digests(self) -> tuple[str, ...]:
        """The digests of the archives that a node needs before it can start a task."""
        package = () if self.package is None else (self.package,)
        return (*package, *(one.digest for one in self.inputs))

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The names of all secrets that a launch needs: those of the tasks, and that for the registry."""
        registry = [self.runtime.pull_secret] if self.runtime.pull_secret else []
        return tuple(dict.fromkeys([*(use.name for use in self.secrets), *registry]))

    def role(self, name: str) -> Role:
        return next(role for role in self.roles if role.name == name)


def tasks_at_most(spec: JobSpec) -> int:
    """The number of tasks of the job when all its elastic roles have grown."""
    return sum(role.max_replicas or role.replicas for role in spec.roles)
