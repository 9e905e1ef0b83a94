"""The interface of backends, which run tasks.

A backend starts, stops and observes tasks on the nodes of one cluster. It needs no durable state: an operation that is
requested twice (with the same task id or gang key) is done once, and after a crash `observe_all` reports what is there.

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
from muster.domain.used_resources import UsedResources
from muster.ports.capabilities import Capabilities, TaskRef


class Phase(StrEnum):
    WAITING = "waiting"
    """The task is in the engine's own queue. Agents never report this phase."""
    PREPARING = "preparing"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Observation:
    """What the backend reports about one task. ENDED with an `error_code` means that it never ran (package, port, disk
    …)."""

    task_id: str
    phase: Phase
    handle: str | None = None
    node: str | None = None
    """The node of the task. Muster records it for a task that an engine has placed."""
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    oom: bool = False
    disk_full: bool = False
    stopped: bool = False
    error_code: str = ""
    error_message: str = ""
    node_problem: str = ""
    """What the end of the task says about its node: that the node is not in order, and why."""
    checkpoint_at: float | None = None
    """When the task last reported a checkpoint."""
    tracking_url: str = ""
    """Where the task says that it can be followed, unchecked."""
    metrics_bytes: int = 0
    """How many bytes of metrics the task has reported, to be read by `TaskMetrics`. With `AttemptMetrics`, one task of
    the attempt says how many points there are."""
    wait_reason: str = ""
    """Why it is WAITING, in the engine's own words."""
    starts_at: float | None = None
    """When the engine expects to start it, if it gives an estimate."""
    needs_action: bool = False
    """Whether it is WAITING for somebody to change the job or the cluster, so that time alone does not help."""
    cancelled: str = ""
    """Why the whole gang is over without an order of Muster: somebody has removed it in the engine itself. Empty if
    nobody has."""
    used: UsedResources | None = None
    """What the task used, if it has ended and somebody measured it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which tasks an answer is complete for: a task in scope that the answer does not list is gone. About all other
    tasks it says nothing."""

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
    """The command line of a node's container engine for a task. While it is not known, `why` says why, and the rest is
    empty. It contains no values of variables."""

    engine: str = ""
    argv: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A script or manifest as it would be given to an engine."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """What would be handed over for a gang, besides the launch requests. It contains no secret."""

    files: tuple[RenderedFile, ...] = ()
    containers: Mapping[str, ContainerCommand] = field(default_factory=dict)
    """The container commands by task id, if the agents of the nodes start containers."""


class BackendListener(Protocol):
    """Receives reports of a backend, on the event loop. Its methods return at once."""

    def task_observed(self, cluster: str, observation: Observation) -> None:
        """`cluster` is that of the backend itself, which is heard about no other tasks than those of its cluster."""
        ...

    def nodes_changed(self, cluster: str) -> None:
        """A node joined, left, or has another state or capacity, or the pooled capacity has changed."""
        ...

    def reconnected(self, cluster: str, node: str | None) -> None:
        """A node, or with None the engine, answers again after it was unreachable. Its tasks may have changed since its
        last report."""
        ...


class Backend(Protocol):
    """Methods raise Rejected if the same request can never work, Unreachable if no answer came and asking again is
    safe, and BackendError for what failed this time."""

    @property
    def cluster(self) -> str: ...

    @property
    def settings(self) -> PhysicalCluster: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def start(self, listener: BackendListener) -> None:
        """Begin to connect. Nodes join as they answer, and unreachable ones are not waited for."""
        ...

    async def close(self) -> None:
        """Close all connections without touching running tasks."""
        ...

    async def configure(self, settings: PhysicalCluster) -> None:
        """Apply the settings of the cluster's file: new nodes join, changed ones are reconnected, and removed ones
        drain. This may be called before `start`."""
        ...

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        """The parts of the spec that this backend does not support. The list is empty if it supports all."""
        ...

    def nodes(self) -> list[Node]: ...

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        """Returns the gang's tasks with addresses, each with as many ports as `ports` says by task id. Agents reserve
        real ports on the nodes. An engine returns stable names, or symbols that its own script resolves with
        `launch.symbols`. Asking twice for one attempt is safe."""
        ...

    def render(self, launch: GangLaunch) -> Rendered:
        """Render what `launch` would hand over. No node is asked, and the same launch always renders the same."""
        ...

    async def launch(self, launch: GangLaunch) -> Launched:
        """Start the pending tasks of the gang, each once, however often this is called. An engine gets the whole gang
        or nothing. What follows is observed. An error holds for every pending task: it was refused, or with Unreachable
        got no answer."""
        ...

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        """Stop the tasks with SIGTERM, a grace period and SIGKILL, or with what the engine has for that. Returns at
        once, and the ends are observed. The answer has the ids of tasks whose stop was not delivered, which are asked
        again. Raises Unreachable if no node answered at all. Unknown tasks are not an error: they are observed as ENDED
        and stopped."""
        ...

    async def observe_all(self, node: str | None = None) -> Observed:
        """Report every task of the cluster or of one node, and the scope for which the report is complete. A node or
        an engine that does not answer is out of scope, which is not an error."""
        ...
