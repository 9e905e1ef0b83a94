"""What a backend may offer besides running tasks: one Protocol for each capability.

A backend that lacks one leaves it out of its `Capabilities`. Whoever needs it asks with `required`, and a cluster
without it answers `not-offered`, by name, all the way to the person who asked.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from muster.domain.errors import NotOffered
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.pools import Pool
from muster.domain.tasks import Task
from muster.ports.environments import Environments
from muster.ports.files import FileSpace


@dataclass(frozen=True, slots=True)
class TaskRef:
    """A task as its backend knows it. `node` is empty while an engine has not chosen one."""

    task_id: str
    handle: str | None = None
    node: str = ""

    @classmethod
    def of(cls, task: Task) -> "TaskRef":
        return cls(task.id, task.handle, task.placement.node)


class EngineQueue(Protocol):
    """The engine behind the backend places tasks itself. Muster admits and orders gangs against one pooled capacity
    and hands them over whole."""

    @property
    def poll_s(self) -> float:
        """How often it is worth asking `observe_all` while tasks are there. Nobody asks while there are none."""
        ...

    def pool(self) -> Pool | None:
        """What the engine can use, less what others there use. None while it has not said. Asked often: answer from
        memory, and call `nodes_changed` when it changes."""
        ...


class PortReservations(Protocol):
    """`assign` reserves something on nodes, which an attempt that never starts has to give back."""

    async def release(self, gang: Gang) -> None:
        """Give back what `assign` reserved for this attempt. Nothing reserved is not an error."""
        ...


@dataclass(frozen=True, slots=True)
class Unready:
    """A node that could not be given what a task needs there."""

    node: str
    code: str
    message: str


class Shipping(Protocol):
    """Nodes have disks of their own, and archives are brought to them before the first task is launched."""

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        """Bring the archives that these tasks need to their nodes. The answer is empty when all is there; otherwise
        nothing was started, and trying again continues from what has arrived. May be cancelled."""
        ...

    def progress(self, digests: Collection[str]) -> str:
        """What of these has been on its way to nodes for longer than a moment, in words; empty if nothing is."""
        ...


@dataclass(frozen=True, slots=True)
class LogChunk:
    data: bytes
    offset: int
    size: int
    ended: bool
    """The task has ended and this chunk reaches the end of its log."""


class TaskLogs(Protocol):
    """Errors: NotFound for a task that has left no log, Unreachable."""

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk: ...

    async def tail_offset(self, task: TaskRef, lines: int) -> int: ...

    def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        """Yields the log's size now and whenever it has grown, and ends after the task's end."""
        ...

    async def collect(self, task: TaskRef, target: Path) -> None:
        """Bring the whole log to `target`. Doing it twice gives the same file."""
        ...


@dataclass(frozen=True, slots=True)
class OutputFile:
    path: str
    size: int
    mtime: float
    sha256: str


@dataclass(frozen=True, slots=True)
class Collected:
    """What was brought back from a task. `left_out` are files beyond the limit; `skipped` counts those whose names are
    not text, that may not be read, or that were too many; `too_deep` counts the folders that nobody looked into."""

    files: tuple[OutputFile, ...] = ()
    left_out: tuple[str, ...] = ()
    skipped: int = 0
    too_deep: int = 0


class TaskOutputs(Protocol):
    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """Bring what an ended task left under these patterns to the folder `target`, file by file. Asked again, it
        continues from what is there. `admit` is asked for each file, by its size, whether there is room for it."""
        ...


class Cleanup(Protocol):
    """Something of a task stays with the backend after its end, until it is told that nobody needs it."""

    def settled(self, task: TaskRef) -> None:
        """Its end is recorded and its log collected: what is left of it may be put aside. Returns at once. Calling it
        twice, or never, does no harm."""
        ...

    async def forget(self, task: TaskRef) -> None:
        """Remove all that is left of the task. Nothing left is not an error."""
        ...


@dataclass(frozen=True, slots=True)
class TaskUsage:
    cpu_percent: float | None
    """Since the sample before; 100 is one core. None in a task's first sample."""
    rss_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class NodeUsage:
    at: float
    """By the node's clock."""
    figures: Mapping[str, Any]
    """The metrics as the agent names them: see `muster.agent.node.usage`."""
    tasks: Mapping[str, TaskUsage]
    heard_at: float = 0.0
    """By the server's clock."""


class Usage(Protocol):
    def latest(self) -> Mapping[str, NodeUsage]:
        """By node, the newest sample. Nodes that left are not in it."""
        ...

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        """The last few minutes of one node without its tasks, the oldest sample first: what came after `since`."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOutput:
    stream: str
    """`stdout` or `stderr`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class CommandEnd:
    exit_code: int
    """128 plus the number for a signal."""
    timed_out: bool = False


class NodeAdministration(Protocol):
    """Nodes are Muster's to cordon, drain, reconnect and run commands on."""

    def forget_host_key(self, node: str) -> None:
        """If the key that the host showed first was kept, accept the next one that it shows instead."""
        ...

    def reconnect(self, node: str) -> None:
        """Drop the connection to the node and open a new one without backing off. Returns at once."""
        ...

    def execute(self, node: str, argv: Sequence[str], timeout_s: float) -> AsyncGenerator[CommandOutput | CommandEnd]:
        """Run a command there that is not a task. Yields what it prints as it comes (now and then empty output, as a
        sign of life), then its end. The command is killed when the generator is closed early or the connection
        breaks."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one backend offers. What is None is not offered."""

    engine: EngineQueue | None = None
    ports: PortReservations | None = None
    shipping: Shipping | None = None
    logs: TaskLogs | None = None
    outputs: TaskOutputs | None = None
    cleanup: Cleanup | None = None
    usage: Usage | None = None
    node_administration: NodeAdministration | None = None
    files: FileSpace | None = None
    environments: Environments | None = None

    def names(self) -> tuple[str, ...]:
        """The names of what is offered, as the API lists them."""
        return tuple(one.name.replace("_", "-") for one in fields(self) if getattr(self, one.name) is not None)

    def latest_usage(self) -> Mapping[str, NodeUsage]:
        """The newest metrics of the nodes; none where there is no `usage`."""
        return self.usage.latest() if self.usage is not None else {}


_T = TypeVar("_T")


def required(capability: _T | None, name: str, cluster: str) -> _T:
    """The capability. Raises NotOffered where the cluster lacks it."""
    if capability is None:
        raise NotOffered(name, cluster)
    return capability
