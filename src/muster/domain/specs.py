"""What was asked: the job spec and its roles. Immutable, already validated, free of file formats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.domain.resources import Resources

PS_ROLE = "ps"
WORKER_ROLE = "worker"
ANY_VALUE = "*"
"""In `where.labels`: the node has the label, whatever its value."""


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
    """When a role decides the job. `None` for `min_failed`: failures of this role never end the job. `None` for
    `min_succeeded`: this role's successes never end the job by themselves."""

    min_failed: int | None = 1
    min_succeeded: int | None = None


class Needed(StrEnum):
    """What a dependency must have come to."""

    SUCCEEDED = "succeeded"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another job of the same owner, by name or id when written, by id once accepted."""

    job: str
    on: Needed = Needed.SUCCEEDED


class Spread(StrEnum):
    """How a gang lies on nodes."""

    PACK = "pack"
    """On as few nodes as will do."""
    APART = "apart"
    """Every task on a node of its own."""


class Together(StrEnum):
    """The part of the network that a gang must not leave: the node label that says so."""

    ANYWHERE = ""
    RACK = "rack"
    SWITCH = "switch"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Where:
    """Which nodes will do. Empty means any."""

    nodes: tuple[str, ...] = ()
    not_nodes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    spread: Spread = Spread.PACK
    together: Together = Together.ANYWHERE


@dataclass(frozen=True, slots=True)
class Role:
    """`min_replicas` and `max_replicas` make a role elastic: it starts with what is there, between the two."""

    name: str
    replicas: int
    command: tuple[str, ...]
    resources: Resources = field(default_factory=Resources)
    env: Mapping[str, str] = field(default_factory=dict)
    ports: int = 0
    completion: Completion = field(default_factory=Completion)
    min_replicas: int | None = None
    max_replicas: int | None = None

    @property
    def is_elastic(self) -> bool:
        return self.min_replicas is not None or self.max_replicas is not None


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where the interpreter comes from; at most one is set."""

    conda: str | None = None
    venv: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """Files that are not part of the package. `source` is the digest of their archive; with a name behind a slash it is
    that one file of it. `target` is where in the working directory they are found."""

    source: str
    target: str

    @property
    def digest(self) -> str:
        return self.source.partition("/")[0]

    @property
    def member(self) -> str:
        return self.source.partition("/")[2]


@dataclass(frozen=True, slots=True)
class JobSpec:
    name: str
    roles: tuple[Role, ...]
    cluster: str | None = None
    framework: Framework = Framework.PLAIN
    priority: Priority = Priority.NORMAL
    time_limit_s: float | None = None
    grace_s: float = 10.0
    retry_max: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str | int | float | bool] = field(default_factory=dict)
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
    """Paths and patterns in the working directory that are brought back when a task has ended."""

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
        """Of the archives that a node needs before a task can start there."""
        package = () if self.package is None else (self.package,)
        return (*package, *(one.digest for one in self.inputs))

    def role(self, name: str) -> Role:
        return next(role for role in self.roles if role.name == name)
