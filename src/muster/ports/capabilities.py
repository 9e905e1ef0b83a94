"""The optional capabilities of a backend, besides running tasks. There is one Protocol for each.

A backend that lacks one leaves it out of its `Capabilities`. Code that needs one calls `required`, and for a cluster
without it the user gets the error `not-offered` with its name.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import NotOffered, Problem
from muster.domain.experiments.job_metrics import MetricPoint, MetricSeries
from muster.domain.gangs import Gang
from muster.domain.isolation import IsolationMode
from muster.domain.launch_requests import GangLaunch
from muster.domain.log_times import LogTimes
from muster.domain.pools import Pool
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.domain.used_resources import UsedResources
from muster.ports.environments import Environments
from muster.ports.files import FileSpace
from muster.ports.foreign_jobs import ForeignJobs


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
        """How often `observe_all` is called while the engine has tasks. While it has none, it is called less often if
        jobs wait for room there, so that a pool that is learnt by asking is learnt anew, and else not at all."""
        ...

    @property
    def cpu_unit_m(self) -> int:
        """The engine gives a task a multiple of this, in thousandths of a CPU, which is what the task counts."""
        ...

    def pool(self) -> Pool | None:
        """The resources that the engine can use, less those that others use. None while they are not known. This is
        called often: answer from memory, and call `nodes_changed` when it changes."""
        ...

    def unknown_why(self) -> str:
        """Why the pool is not known, for people; empty if it is, or if there is nothing to say yet. Call
        `nodes_changed` when it changes."""
        ...

    async def look(self, max_age_s: float = 3.0) -> None:
        """Somebody is about to look at the nodes, or a job waits for room. Where they are learnt by asking, this waits
        a moment for an answer if the last one is older. However many look, the engine is asked once."""
        ...


@runtime_checkable
class AgingPool(EngineQueue, Protocol):
    """Offered for an engine whose pool is learnt by asking, and is not asked for while nothing waits: others may have
    taken meanwhile what it shows as available."""

    def may_hand_over(self, waiting: int) -> bool:
        """Whether so many jobs may be handed over now by the pool as it is known. If not, `look` comes first. Whoever
        gets a yes is taken to hand them over."""
        ...


@runtime_checkable
class PatientQueue(EngineQueue, Protocol):
    """For an engine that may not take a gang at once. It is asked again until it does."""

    def untaken_why(self, key: str) -> str:
        """Why the engine has not taken the gang of this key yet; empty if it has, or was not asked."""
        ...


class Removals(Protocol):
    """Offered for engines in which people may remove a whole gang themselves, also while no server watches."""

    async def removed(self, tasks: Sequence[TaskRef]) -> str:
        """These tasks of one attempt had been started, and the engine does not know them any more. Says that somebody
        removed the attempt, if so; empty if it is still there, so that its tasks were lost. Raises Unreachable."""
        ...


class PortReservations(Protocol):
    """Offered by backends whose `assign` reserves ports on nodes, to release them if the attempt never starts."""

    async def release(self, gang: Gang) -> None:
        """Release what `assign` reserved for this attempt. It is not an error if nothing was reserved."""
        ...


@dataclass(frozen=True, slots=True)
class Unready:
    """A node that could not be prepared for a task."""

    node: str
    code: str
    message: str


class Shipping(Protocol):
    """Offered for nodes with disks of their own: archives are sent to them before the first task is launched."""

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        """Send the archives that these tasks need to their nodes. The answer is empty if all have arrived. Otherwise
        nothing was started, and the next call continues from what has arrived. This may be cancelled."""
        ...

    def progress(self, digests: Collection[str]) -> str:
        """Describes which of these archives have been on their way for longer than a moment. Empty if none have."""
        ...


@dataclass(frozen=True, slots=True)
class LogChunk:
    data: bytes
    offset: int
    size: int
    ended: bool
    """Whether the task has ended and this chunk reaches the end of its log."""
    dropped: DroppedBytes | None = None
    """Bytes of the log that are not kept. A chunk ends before them, and is empty if it begins with one of them."""


class TaskLogs(Protocol):
    """Methods raise NotFound for a task that has left no log, and Unreachable."""

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk: ...

    async def tail_offset(self, task: TaskRef, lines: int) -> int: ...

    def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        """Yields the log's size now and whenever it has grown, and ends after the task's end."""
        ...

    async def collect(self, task: TaskRef, target: Path) -> DroppedBytes | None:
        """Copy the whole log to `target`, without the bytes that were dropped, and return which those are. Doing it
        twice gives the same file."""
        ...


class TaskMetrics(Protocol):
    """Offered by backends that collect what tasks report as metrics, besides their logs."""

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        """Lines of JSON from the task's own hand, unchecked. Raises NotFound and Unreachable."""
        ...


@dataclass(frozen=True, slots=True)
class AttemptPoints:
    """Points of an attempt's metrics, unchecked, and others that count in their summaries only."""

    points: Sequence[MetricPoint] = ()
    summed: Sequence[MetricPoint] = ()


class AttemptMetrics(Protocol):
    """Offered for engines that take the metrics of an attempt themselves, also from logs and event files, where nobody
    looks for them here. `task` is any task of the attempt. Methods raise NotFound for an attempt that is not there,
    Unreachable, and BackendError for an answer that makes no sense."""

    def newer(self, task: TaskRef, known: Sequence[MetricSeries]) -> AsyncGenerator[AttemptPoints]:
        """Yields what has probably come since these summaries were read. A point may come again."""
        ...

    def whole(self, task: TaskRef, known: Sequence[MetricSeries]) -> AsyncGenerator[AttemptPoints]:
        """Waits a moment until the engine has everything of an attempt that has ended, and yields all curves that
        differ from these summaries. Long ones are thinned."""
        ...


class TaskLogTimes(Protocol):
    """Offered by backends that know when the bytes of a log were written."""

    async def times(self, task: TaskRef) -> LogTimes:
        """Empty if nothing is known. Raises NotFound and Unreachable."""
        ...


@dataclass(frozen=True, slots=True)
class OutputFile:
    path: str
    size: int
    mtime: float
    sha256: str


@dataclass(frozen=True, slots=True)
class Collected:
    """The collected outputs of a task. `left_out` are files beyond the limit. `skipped` counts those whose names are
    not text, that may not be read, or that were too many. `too_deep` counts folders that were not searched. `problem`
    says why others are missing for good."""

    files: tuple[OutputFile, ...] = ()
    left_out: tuple[str, ...] = ()
    skipped: int = 0
    too_deep: int = 0
    problem: str = ""


class TaskOutputs(Protocol):
    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """Copy the files of an ended task that match these patterns to the folder `target`, one by one. The next call
        continues from what is there. `admit` says for each size whether there is room for the file."""
        ...


@dataclass(frozen=True, slots=True)
class PastEnd:
    """How a task ended that its node has retired."""

    task_id: str
    node: str
    started_at: float | None
    ended_at: float | None
    exit_code: int | None
    signal: int | None
    stopped: bool
    error_code: str
    error_message: str


class Cleanup(Protocol):
    """Offered by backends that keep data of a task after its end, until it is no longer needed."""

    def settled(self, task: TaskRef) -> None:
        """The end of the task is recorded, and its log and outputs are collected, so the backend may retire it, and an
        engine remove it. Returns at once. Calling it twice, or never, does no harm."""
        ...

    async def forget(self, task: TaskRef) -> None:
        """Remove all data of the task. It is not an error if there is none."""
        ...

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        """How tasks of these jobs ended on the node that were retired already, as far as it still knows."""
        ...


@dataclass(frozen=True, slots=True)
class TaskUsage:
    cpu_percent: float | None
    """CPU usage since the sample before, where 100 is one core. None in a task's first sample."""
    rss_bytes: int
    processes: int | None
    """The number of processes; None where it is not measured."""
    used: UsedResources | None = None
    """What the task has used so far."""


@dataclass(frozen=True, slots=True)
class NodeUsage:
    at: float
    """When the sample was taken, by the node's clock."""
    metrics: Mapping[str, Any]
    """The metrics as the agent names them: see `muster.agent.node.usage`."""
    tasks: Mapping[str, TaskUsage]
    received_at: float = 0.0
    """When the sample was received, by the server's clock."""


class Usage(Protocol):
    def latest(self) -> Mapping[str, NodeUsage]:
        """The newest sample of each node, by name. Nodes that left are not in it."""
        ...

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        """The samples of the last few minutes that came after `since`, oldest first, without the usage of tasks."""
        ...

    async def look(self) -> None:
        """Somebody is about to look at the samples. Where they are taken only then, this waits a moment for them."""
        ...

    def unknown_why(self) -> str:
        """Why there are no samples, and what to do about it; empty if there are some, or will be soon."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOutput:
    stream: str
    """`stdout` or `stderr`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class CommandEnd:
    exit_code: int
    """The exit code, or 128 plus the number of the signal that ended the command."""
    timed_out: bool = False
    task_ended: bool = False
    """Whether the command was killed because the task in which it ran has ended."""


class NodeAdministration(Protocol):
    """Offered for nodes that Muster may cordon, drain, reconnect and run commands on."""

    def forget_host_key(self, node: str) -> None:
        """If the key that the host showed first was kept, accept the next one that it shows instead."""
        ...

    def reconnect(self, node: str) -> None:
        """Drop the connection to the node and open a new one without backing off. Returns at once."""
        ...

    def execute(self, node: str, argv: Sequence[str], timeout_s: float) -> AsyncGenerator[CommandOutput | CommandEnd]:
        """Run a command that is not a task. Yields its output as it comes (sometimes empty, as a heartbeat), then its
        end. The command is killed if the generator is closed early or the connection breaks."""
        ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """The terminal of a command. `kind` is the value of TERM."""

    rows: int
    columns: int
    kind: str = "xterm-256color"


class CommandSession(Protocol):
    """A running command. Its input and its output may be used at the same time, each by one caller."""

    async def send(self, data: bytes) -> None:
        """Pass input to the command. Returns when the command, or a small buffer before it, has taken it. Input for a
        command that takes none any more is dropped."""
        ...

    async def end_input(self) -> None:
        """Close the input. At a terminal, this is what Ctrl-D does."""
        ...

    async def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal. Does nothing if there is none."""
        ...

    def output(self) -> AsyncGenerator[CommandOutput | CommandEnd]:
        """Yields output as it comes (sometimes empty, as a heartbeat), and at last the end. At a terminal, all of it is
        stdout. No more is taken from the command than is read here."""
        ...


class TaskCommands(Protocol):
    """Commands that somebody runs in a running task, with its environment, in its folder, with its devices and under
    its isolation."""

    def run(
        self, task: TaskRef, argv: Sequence[str], terminal: Terminal | None
    ) -> AbstractAsyncContextManager[CommandSession]:
        """Start the command. It is killed with everything that it has started when the context is left, when the
        connection breaks, and when the task ends. Raises Conflict if the task is not running, and Unreachable."""
        ...


class TaskConnection(Protocol):
    """A TCP connection to a port of a task. Both directions may be used at the same time, each by one caller."""

    async def send(self, data: bytes) -> None:
        """Returns when the task, or a small buffer before it, has taken it. What is sent to a task that takes no more
        is dropped."""
        ...

    async def end_input(self) -> None:
        """Nothing more will be sent, which the task sees as the end of the stream, if the backend can pass that on."""
        ...

    def received(self) -> AsyncGenerator[bytes]:
        """Yields what the task sends until it sends no more. No more is taken from the task than is read here."""
        ...


class TaskConnections(Protocol):
    """Connections to what listens in a running task. Nothing but the task's own ports can be reached."""

    def connect(self, task: TaskRef, port: int) -> AbstractAsyncContextManager[TaskConnection]:
        """The connection is closed when the context is left, when the link to the node breaks, and when the task ends.
        Raises Conflict if the task is not running or does not listen on the port, and Unreachable."""
        ...


class TaskAttachments(Protocol):
    """The standard input and the output of running tasks whose role has `stdin`."""

    def attach(
        self, task: TaskRef, terminal: Terminal | None, tail: int | None
    ) -> AbstractAsyncContextManager[CommandSession]:
        """Attach to the task. Its output begins with its last `tail` lines, or with its first if that is None. The task
        goes on when the context is left. Its end is that of the task. Several may be attached: all have the output, and
        input is taken from each. Raises Conflict if the task is not running, and Unreachable."""
        ...


@dataclass(frozen=True, slots=True)
class GivenIsolation:
    """How a cluster isolates the tasks of its users from each other."""

    mode: IsolationMode | None
    """The mode; None while no node is connected."""
    why: str = ""
    """Why it is not more, or what is wrong."""
    trusts_users: bool = False
    gaps: tuple[str, ...] = ()
    """What is not enforced although tasks are isolated."""


class TaskIsolation(Protocol):
    def given(self) -> GivenIsolation:
        """How the cluster isolates tasks now."""

    def refusal(self, spec: JobSpec, owner: str) -> Problem | None:
        """Why this user may not run the job here, unless the user is an admin."""


class TaskAccounts(Protocol):
    """Offered for clusters where tasks run under accounts that their owners have there, which not everybody has."""

    def refusal(self, owner: str) -> Problem | None:
        """Why this user, admin or not, cannot run jobs here. Answers at once."""
        ...


@dataclass(frozen=True, slots=True)
class TaskSecrets:
    """A promise, which has no operations of its own: the backend gives tasks the secrets that their requests name, with
    the values of the gang's launch.

    A value is never in the arguments of a process. If it is on a disk of a node, only the accounts of the task and the
    agent can read it there, and it is removed at the end of the task. In what `TaskLogs` reads, it is masked.
    """


class HandingOn(Protocol):
    """Offered for clusters that are another Muster server."""

    def reaches(self) -> frozenset[str]:
        """The installations that jobs may come to from here: the other server, and those that it hands on to itself, as
        far as is known."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of one backend. Those that are None are not offered."""

    engine: EngineQueue | None = None
    removals: Removals | None = None
    ports: PortReservations | None = None
    shipping: Shipping | None = None
    logs: TaskLogs | None = None
    log_times: TaskLogTimes | None = None
    metrics: TaskMetrics | None = None
    attempt_metrics: AttemptMetrics | None = None
    outputs: TaskOutputs | None = None
    cleanup: Cleanup | None = None
    task_commands: TaskCommands | None = None
    task_connections: TaskConnections | None = None
    task_attachments: TaskAttachments | None = None
    usage: Usage | None = None
    node_administration: NodeAdministration | None = None
    files: FileSpace | None = None
    environments: Environments | None = None
    isolation: TaskIsolation | None = None
    accounts: TaskAccounts | None = None
    secrets: TaskSecrets | None = None
    foreign_jobs: ForeignJobs | None = None
    handing_on: HandingOn | None = None

    def names(self) -> tuple[str, ...]:
        """The names of the offered capabilities, as the API lists them."""
        return tuple(one.name.replace("_", "-") for one in fields(self) if getattr(self, one.name) is not None)

    def latest_usage(self) -> Mapping[str, NodeUsage]:
        """The newest metrics of the nodes, or none if `usage` is not offered."""
        return self.usage.latest() if self.usage is not None else {}

    def notes(self) -> tuple[str, ...]:
        """What is offered less than it could be, and why."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        pool = self.engine.pool() if self.engine is not None else None
        if pool is not None and pool.note:
            yield pool.note
        if self.engine is not None and pool is None and (why := self.engine.unknown_why()):
            yield f"its capacity is not known, so that jobs wait: {why}"
        if self.foreign_jobs is not None and (why := self.foreign_jobs.unknown_why()):
            yield f"jobs of others are not shown: {why}"
        if self.usage is not None and (why := self.usage.unknown_why()):
            yield f"usage is not known: {why}"


_T = TypeVar("_T")


def required(capability: _T | None, name: str, cluster: str) -> _T:
    """Returns the capability. Raises NotOffered if the cluster lacks it."""
    if capability is None:
        raise NotOffered(name, cluster)
    return capability
