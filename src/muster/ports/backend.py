"""Where tasks run.

A backend starts, stops and observes tasks on the nodes of one cluster. It remembers nothing that matters: whatever is
asked twice (same task id) happens once, and after a crash `observe_all` tells what really is there.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.nodes import Node
from muster.domain.specs import JobSpec, Mount
from muster.ports.environments import Environments
from muster.ports.files import FileSpace

CONNECTION_LOST = "connection-lost"
"""A BackendError's reason when the answer never came: the act may have happened."""


@dataclass(frozen=True, slots=True)
class PackageSource:
    digest: str
    path: Path


@dataclass(frozen=True, slots=True)
class InputSource:
    """An archive whose content, or one file of it, is found at `target` in the working directory."""

    digest: str
    path: Path
    target: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Exactly what is started: composed purely by `launch`, shown by `--dry-run`, sent unchanged."""

    task_id: str
    node: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    port_owner: str = ""
    devices: tuple[int, ...] = ()
    memory_bytes: int | None = None
    cpu_m: int | None = None
    package: PackageSource | None = None
    inputs: tuple[InputSource, ...] = ()
    image: str | None = None
    """Run in a container of this image; how, its node's engine decides."""
    mounts: tuple[Mount, ...] = ()
    """What the container sees of the node besides the task's folder; both sides absolute."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Made in the working directory: name there → path of the node."""

    @property
    def sources(self) -> "tuple[PackageSource | InputSource, ...]":
        """The archives that its node needs before it can start."""
        return self.inputs if self.package is None else (self.package, *self.inputs)


@dataclass(frozen=True, slots=True)
class ContainerCommand:
    """How a node's container engine is called for a task. While that is not known, `why` says why, and the rest is
    empty. It has no variable's value in it."""

    engine: str = ""
    argv: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unready:
    """A node that could not be given what a task needs there."""

    node: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class OutputFile:
    path: str
    size: int
    mtime: float
    sha256: str


@dataclass(frozen=True, slots=True)
class Collected:
    """What was brought back of a task. `left_out` are files beyond the limit; `skipped` counts those whose names are no
    text, that may not be read, or that were too many; `too_deep` the folders that nobody looked into."""

    files: tuple[OutputFile, ...] = ()
    left_out: tuple[str, ...] = ()
    skipped: int = 0
    too_deep: int = 0


class Phase(StrEnum):
    PREPARING = "preparing"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Observation:
    """What the backend says of one task. ENDED with `error` set means that it never ran (package, port, disk …)."""

    task_id: str
    phase: Phase
    handle: str | None = None
    node: str | None = None
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


@dataclass(frozen=True, slots=True)
class LogChunk:
    data: bytes
    offset: int
    size: int
    ended: bool
    """The task has ended and this chunk reaches the end of its log."""


@dataclass(frozen=True, slots=True)
class TaskUsage:
    cpu_percent: float | None
    """Since the sample before; 100 is one core. None on a task's first sample."""
    rss_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class NodeUsage:
    at: float
    """By the node's clock."""
    figures: Mapping[str, Any]
    """As the agent names them: see `muster.agent.node.usage`."""
    tasks: Mapping[str, TaskUsage]
    heard_at: float = 0.0
    """By ours."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    stream: str
    """`stdout` or `stderr`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class CommandEnd:
    exit_code: int
    """128 and the number for a signal."""
    timed_out: bool = False


class BackendListener(Protocol):
    """What a backend calls, on the event loop, when something happened. Calls return at once."""

    def task_observed(self, observation: Observation) -> None: ...

    def nodes_changed(self, cluster: str) -> None:
        """A node joined, left, or has another state or capacity."""
        ...

    def reconnected(self, cluster: str, node: str) -> None:
        """A node answers again after silence: what it has may differ from what was last heard."""
        ...


class Backend(Protocol):
    """Errors: BackendError, with `retryable` False when the same request can never work."""

    @property
    def cluster(self) -> str: ...

    async def start(self, listener: BackendListener) -> None:
        """Begin to connect to the nodes; they join as they answer."""
        ...

    async def close(self) -> None:
        """Let go without touching running tasks."""
        ...

    async def configure(self, settings: PhysicalCluster) -> None:
        """Take what the cluster's file says now: nodes that are new join, changed ones are looked at again, and those
        that are gone drain. Also before `start`."""
        ...

    @property
    def settings(self) -> PhysicalCluster: ...

    @property
    def files(self) -> FileSpace | None:
        """What people may do with the folders of the settings; None where nodes cannot be reached for that."""
        ...

    @property
    def environments(self) -> Environments | None:
        """What its nodes offer to jobs; None where nobody can tell."""
        ...

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        """What this backend cannot do of the spec; empty when all is well."""
        ...

    def nodes(self) -> list[Node]: ...

    def usage(self) -> Mapping[str, NodeUsage]:
        """By node, what was last heard of it. Nodes that left are not in it."""
        ...

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        """The last few minutes of one node, the oldest first, without its tasks: what was heard after `since`."""
        ...

    async def reserve_ports(self, node: str, owner: str, count: int) -> tuple[int, ...]:
        """Free ports on the node, held for `owner` until its launch, never given twice."""
        ...

    async def release_ports(self, node: str, owner: str) -> None: ...

    async def prepare(self, requests: Sequence[LaunchRequest]) -> list[Unready]:
        """Bring the archives that these tasks need to their nodes, before the first of them is launched. Empty when all
        is there; else nothing was started, and trying again goes on from what has arrived. May be cancelled."""
        ...

    def sending(self, digests: Collection[str]) -> str:
        """What of these is on its way to nodes for longer than a moment, in words; empty if nothing is."""
        ...

    def container_command(self, request: LaunchRequest) -> ContainerCommand:
        """For a request with an image, what would run on its node. Nobody is asked."""
        ...

    async def launch(self, request: LaunchRequest) -> str:
        """Start the task once, however often this is called; answers its handle. What follows is observed."""
        ...

    async def stop(self, task_id: str, node: str, grace_s: float) -> None:
        """SIGTERM, grace, SIGKILL; returns at once, the end is observed. Unknown tasks are no error: it reports them
        ENDED and stopped."""
        ...

    async def observe_all(self, node: str | None = None) -> Mapping[str, Sequence[Observation]]:
        """Every task that the nodes, or one of them, know, by node. One that does not answer is left out, which is no
        error."""
        ...

    def forget_host_key(self, node: str) -> None:
        """Of a host whose first key was kept: the next one that it shows is taken. Where no such key is kept, nothing
        happens."""
        ...

    def reconnect(self, node: str) -> None:
        """Give up the line to the node and make it anew, without waiting as after a failure. Returns at once."""
        ...

    def execute(self, node: str, argv: Sequence[str], timeout_s: float) -> AsyncGenerator[CommandOutput | CommandEnd]:
        """Run a command there that is no task: what it prints as it comes (now and then nothing, so that one knows it
        is there), then its end. It is ended when the generator is closed before, or the line breaks."""
        ...

    def settled(self, task_id: str, node: str) -> None:
        """Its end is recorded and its log collected: what is left of it may be put aside. Returns at once; telling it
        twice, or never, does no harm."""
        ...

    async def forget(self, task_id: str, node: str) -> None:
        """Remove the task's folder; no error when there is none."""
        ...

    async def read_log(self, task_id: str, node: str, offset: int, limit: int) -> LogChunk: ...

    async def tail_offset(self, task_id: str, node: str, lines: int) -> int: ...

    def watch_log(self, task_id: str, node: str) -> AsyncGenerator[int]:
        """Yields the log's size now and whenever it has grown, and ends after the task's end."""
        ...

    async def collect_log(self, task_id: str, node: str, target: Path) -> None:
        """Bring the whole log to `target`; doing it twice gives the same file."""
        ...

    async def collect_outputs(
        self, task_id: str, node: str, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """Bring what an ended task left under these patterns to the folder `target`, file by file. Asked again it goes
        on from what is there. `admit` is asked for each file, by its size, whether there is room for it."""
        ...
