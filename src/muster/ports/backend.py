"""Where tasks run.

A backend starts, stops and observes tasks on the nodes of one cluster. It remembers nothing that matters: whatever is
asked twice (same task id, same gang key) happens once, and after a crash `observe_all` says what really is there.

There are two kinds (ADR 3). Muster places every task of an agent backend itself: node, devices, ports. An engine
backend has the capability `engine`: Muster admits and orders whole gangs, and the engine places them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, Problem
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.nodes import Node
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.ports.capabilities import Capabilities, TaskRef


class Phase(StrEnum):
    WAITING = "waiting"
    """In the engine's own queue; agents never say this."""
    PREPARING = "preparing"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Observation:
    """What the backend says about one task. ENDED with `error_code` set means that it never ran (package, port, disk
    …)."""

    task_id: str
    phase: Phase
    handle: str | None = None
    node: str | None = None
    """Where it is. Muster fills it in for a task that an engine has placed."""
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    oom: bool = False
    disk_full: bool = False
    stopped: bool = False
    error_code: str = ""
    error_message: str = ""
    checkpoint_at: float | None = None
    """When the task last said that its work is safe."""
    wait_reason: str = ""
    """Why it is WAITING, in the engine's own words."""
    starts_at: float | None = None
    """When the engine expects to start it, if it says so."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which tasks an answer is complete for: a task in scope that the answer does not name is gone. Silence about all
    others means nothing."""

    nodes: frozenset[str] = frozenset()
    everything: bool = False

    def covers(self, task: Task) -> bool:
        return self.everything or task.placement.node in self.nodes


@dataclass(frozen=True, slots=True)
class Observed:
    observations: tuple[Observation, ...]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Launched:
    """What became of a launch, task by task. A task in neither mapping got no answer, and may have started."""

    handles: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, BackendError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContainerCommand:
    """How a node's container engine is called for a task. While that is not known, `why` says why, and the rest is
    empty. No variable's value is in it."""

    engine: str = ""
    argv: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A script or manifest as an engine would be given it."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """What would be handed over for a gang, beyond the requests themselves. It holds no secret."""

    files: tuple[RenderedFile, ...] = ()
    containers: Mapping[str, ContainerCommand] = field(default_factory=dict)
    """By task id, where tasks run in containers that a node's agent starts."""


class BackendListener(Protocol):
    """What a backend calls, on the event loop, when something happened. Calls return at once."""

    def task_observed(self, observation: Observation) -> None: ...

    def nodes_changed(self, cluster: str) -> None:
        """A node joined, left, or has another state or capacity; or the pooled capacity has changed."""
        ...

    def reconnected(self, cluster: str, node: str | None) -> None:
        """A node, or with None the engine, answers again after silence: what it has may differ from what it last
        said."""
        ...


class Backend(Protocol):
    """Errors: Rejected when the same request can never work, Unreachable when no answer came and asking again is safe;
    BackendError itself for what failed this time."""

    @property
    def cluster(self) -> str: ...

    @property
    def settings(self) -> PhysicalCluster: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def start(self, listener: BackendListener) -> None:
        """Begin to connect; nodes join as they answer. Waits for nobody who may be away."""
        ...

    async def close(self) -> None:
        """Let go without touching running tasks."""
        ...

    async def configure(self, settings: PhysicalCluster) -> None:
        """Apply what the cluster's file says now: new nodes join, changed ones are reconnected, and those that are
        gone drain. Called before `start` too."""
        ...

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        """What of the spec this backend cannot do; empty when all is well."""
        ...

    def nodes(self) -> list[Node]: ...

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        """The gang's tasks with addresses, and with as many ports each as `ports` says by task id. Agents reserve real
        ports on the nodes; an engine answers stable names, or symbols that its own script resolves with
        `launch.symbols`. Asking twice for one attempt is safe."""
        ...

    def render(self, launch: GangLaunch) -> Rendered:
        """What `launch` would hand over. Pure: nobody is asked, and the same launch renders the same."""
        ...

    async def launch(self, launch: GangLaunch) -> Launched:
        """Start the pending tasks of the gang, each once, however often this is called. An engine gets the gang whole
        or not at all. What follows is observed. Raising means the same for every pending task: refused, or with
        Unreachable no answer."""
        ...

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        """SIGTERM, grace, SIGKILL, or what the engine has for that. Returns at once; the ends are observed. Answers
        the ids of those whose stop was not delivered, which are asked again; raises Unreachable when nobody answered at
        all. Unknown tasks are not an error: they are
        observed as ENDED and stopped."""
        ...

    async def observe_all(self, node: str | None = None) -> Observed:
        """Every task that is there, or that one node has, and the scope in which that is complete. A node or an engine
        that does not answer is out of scope, which is not an error."""
        ...
