"""A backend in memory, driven by the test: it starts nothing, and tells what the test says happened.

Tasks outlive the engine, as real ones do: hand the same backend to the next engine, and it knows them still.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from muster.agent.tasks.masking import Masks
from muster.agent.tasks.outputs import Pattern
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, NotFound, Problem, Unreachable
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.nodes import Node, NodeState
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.ports.backend import (
    BackendListener,
    ContainerCommand,
    Launched,
    Observation,
    Observed,
    Phase,
    Rendered,
    Scope,
)
from muster.ports.capabilities import (
    Capabilities,
    Collected,
    CommandEnd,
    CommandOutput,
    LogChunk,
    NodeUsage,
    OutputFile,
    PastEnd,
    TaskCommands,
    TaskLogTimes,
    TaskRef,
    TaskSecrets,
    Unready,
)
from muster.ports.environments import Environments
from tests.parts.building import a_node


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class FakeTask:
    request: LaunchRequest
    seen: Observation
    log: bytes = b""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watchers: int = 0
    """How many follow its log."""

    @property
    def runs(self) -> bool:
        return self.seen.phase in (Phase.PREPARING, Phase.RUNNING)


@dataclass(slots=True)
class FakeBackend:
    """Implements `ports.backend.Backend`. `auto_start` and `auto_stop` answer a launch and a stop at once."""

    machines: list[Node] = field(default_factory=lambda: [a_node("n1")])
    auto_start: bool = True
    auto_stop: bool = True
    tasks: dict[str, FakeTask] = field(default_factory=dict)
    starts: Counter[str] = field(default_factory=Counter)
    """How often each task id was started. More than once is a bug in the engine."""
    moved: list[str] = field(default_factory=list)
    """The tasks that were launched on a second node, which is a bug in the engine too."""
    secrets_given: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The values of secrets that came with the launch of each task."""
    stops: list[tuple[str, float]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    settled_tasks: list[str] = field(default_factory=list)
    prepared: list[tuple[str, ...]] = field(default_factory=list)
    """The nodes of each gang that was prepared."""
    may_prepare: asyncio.Event = field(default_factory=_set_event)
    """A test clears this event to make preparation take long."""
    unready: list[Unready] = field(default_factory=list)
    """The errors of the next preparations, one each."""
    outputs: dict[str, bytes] = field(default_factory=dict)
    """The outputs of every task, by path."""
    outputs_too_deep: int = 0
    outputs_problem: str = ""
    output_error: Exception | None = None
    refusals: list[BackendError] = field(default_factory=list)
    """The errors of the next launches, one each."""
    answers_lost: int = 0
    """The number of launches that succeed without an answer."""
    requests_lost: int = 0
    """The number of launches that fail without an answer."""
    removal: str = ""
    """Why attempts that are gone were removed by somebody; empty if their tasks were lost."""
    removal_errors: int = 0
    port_errors: int = 0
    stop_errors: int = 0
    log_error: Exception | None = None
    away: set[str] = field(default_factory=set)
    """The nodes that do not answer."""
    reconnects: list[str] = field(default_factory=list)
    samples: dict[str, NodeUsage] = field(default_factory=dict)
    """The newest metrics of each node."""
    past_samples: dict[str, list[NodeUsage]] = field(default_factory=dict)
    """What `measured` was told of each node, the oldest first."""
    log_times: TaskLogTimes | None = None
    task_commands: TaskCommands | None = None
    clock: float = 1000.0
    listener: BackendListener | None = None
    environments: Environments | None = None
    settings: PhysicalCluster = field(default_factory=lambda: PhysicalCluster("lab", "fake"))
    _port: int = 20_000

    # What the test drives

    def of(self, job_id: str, attempt: int | None = None) -> list[str]:
        """The ids of the job's tasks in order of launch, of all attempts or of one."""
        prefix = f"{job_id}." if attempt is None else f"{job_id}.{attempt}."
        return [task_id for task_id in self.tasks if task_id.startswith(prefix)]

    def begin(self, task_id: str) -> None:
        self._change(task_id, phase=Phase.RUNNING, started_at=self.clock)

    def end(self, task_id: str, exit_code: int | None = 0, **facts: object) -> None:
        self._change(task_id, phase=Phase.ENDED, exit_code=exit_code, ended_at=self.clock, **facts)

    def checkpoint(self, task_id: str) -> None:
        """The task reports a checkpoint."""
        self._change(task_id, checkpoint_at=self.clock)

    def prints(self, task_id: str, text: str) -> None:
        self.tasks[task_id].log += text.encode()
        self.tasks[task_id].changed.set()

    def lose(self, task_id: str) -> None:
        """The backend reports the task as lost, although it may still run."""
        assert self.listener is not None
        self.listener.task_observed(self.cluster, Observation(task_id, Phase.LOST))

    @property
    def is_away(self) -> bool:
        """Whether any node is unreachable."""
        return bool(self.away)

    def leave(self, *names: str) -> None:
        """These nodes, or all nodes, stop answering."""
        gone = set(names) or {node.name for node in self.machines}
        self.away |= gone
        self._set_state(gone, NodeState.UNREACHABLE)

    def come_back(self, *names: str) -> None:
        back = set(names) or {node.name for node in self.machines}
        self.away -= back
        self._set_state(back, NodeState.READY)
        assert self.listener is not None
        for name in sorted(back):
            self.listener.reconnected(self.cluster, name)

    def measured(self, node: str, usage: NodeUsage) -> None:
        self.samples[node] = usage
        self.past_samples.setdefault(node, []).append(replace(usage, tasks={}))

    def tell_nodes(self) -> None:
        """Announces a change of the nodes, whether there is one or not."""
        if self.listener is not None:
            self.listener.nodes_changed(self.cluster)

    # What the engine calls

    @property
    def cluster(self) -> str:
        return self.settings.name

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            removals=self,
            ports=self,
            shipping=self,
            logs=FakeLogs(self),
            outputs=FakeOutputs(self),
            cleanup=self,
            usage=FakeUsage(self),
            node_administration=self,
            environments=self.environments,
            secrets=TaskSecrets(),
            log_times=self.log_times,
            task_commands=self.task_commands,
        )

    async def start(self, listener: BackendListener) -> None:
        self.listener = listener

    async def close(self) -> None:
        self.listener = None

    async def configure(self, settings: PhysicalCluster) -> None:
        self.settings = settings

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return [Problem("mounts", "this cluster mounts nothing")] if spec.mounts else []

    def nodes(self) -> list[Node]:
        return list(self.machines)

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        if self.port_errors:
            self.port_errors -= 1
            raise BackendError("no ports", reason="no-ports")
        return tuple(self._with_ports(task, ports.get(task.id, 0)) for task in gang.tasks)

    async def release(self, gang: Gang) -> None:
        return None

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        self.prepared.append(tuple(request.node for request in launch.pending))
        await self.may_prepare.wait()
        return [self.unready.pop(0)] if self.unready else []

    def progress(self, digests: Collection[str]) -> str:
        return "" if self.may_prepare.is_set() else "sending 1.2 GiB of 4.0 GiB to n1"

    def render(self, launch: GangLaunch) -> Rendered:
        images = [request for request in launch.requests if request.image]
        return Rendered(
            containers={
                one.task_id: ContainerCommand("podman", ("podman", "run", one.image or "", *one.argv)) for one in images
            }
        )

    async def launch(self, launch: GangLaunch) -> Launched:
        handles: dict[str, str] = {}
        refused: dict[str, BackendError] = {}
        for request in launch.pending:
            try:
                self.secrets_given[request.task_id] = dict(launch.secret_values)
                handles[request.task_id] = self._launch(request)
            except Unreachable:
                continue
            except BackendError as error:
                refused[request.task_id] = error
        return Launched(handles, refused)

    def _launch(self, request: LaunchRequest) -> str:
        if self.refusals:
            raise self.refusals.pop(0)
        self._answer(request.node)
        if self.requests_lost:
            self.requests_lost -= 1
            raise _lost()
        if request.task_id in self.tasks and self.tasks[request.task_id].request.node != request.node:
            self.moved.append(request.task_id)
        if request.task_id not in self.tasks:
            self.starts[request.task_id] += 1
            seen = Observation(request.task_id, Phase.PREPARING, request.task_id, request.node)
            self.tasks[request.task_id] = FakeTask(request, seen)
        if self.auto_start and self.tasks[request.task_id].seen.phase is Phase.PREPARING:
            self.begin(request.task_id)
        if self.answers_lost:
            self.answers_lost -= 1
            raise _lost()
        return request.task_id

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        missed = [task for task in tasks if not self._stop(task, grace_s)]
        if len(missed) == len(tasks) and all(task.node in self.away for task in missed):
            raise _lost()
        return [task.task_id for task in missed]

    def _stop(self, task: TaskRef, grace_s: float) -> bool:
        if task.node in self.away:
            return False
        if self.stop_errors:
            self.stop_errors -= 1
            return False
        self.stops.append((task.task_id, grace_s))
        if task.task_id not in self.tasks:
            if self.listener is not None:
                self.listener.task_observed(self.cluster, Observation(task.task_id, Phase.ENDED, stopped=True))
        elif self.auto_stop and self.tasks[task.task_id].runs:
            self.end(task.task_id, exit_code=143, stopped=True)
        return True

    async def observe_all(self, node: str | None = None) -> Observed:
        names = {one.name for one in self.machines if one.name not in self.away and node in (None, one.name)}
        seen = tuple(task.seen for task in self.tasks.values() if task.request.node in names)
        return Observed(seen, Scope(frozenset(names)))

    def forget_host_key(self, node: str) -> None:
        return None

    def reconnect(self, node: str) -> None:
        if node not in {one.name for one in self.machines}:
            raise NotFound(f"cluster {self.cluster} has no node {node!r}")
        self.reconnects.append(node)
        if node not in self.away and self.listener is not None:
            self.listener.reconnected(self.cluster, node)

    async def execute(
        self, node: str, argv: Sequence[str], timeout_s: float
    ) -> AsyncGenerator[CommandOutput | CommandEnd]:
        self._answer(node)
        yield CommandOutput("stdout", " ".join(argv).encode())
        yield CommandEnd(0)

    async def removed(self, tasks: Sequence[TaskRef]) -> str:
        if self.removal_errors:
            self.removal_errors -= 1
            raise Unreachable("no answer")
        return self.removal

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        return []

    def settled(self, task: TaskRef) -> None:
        self.settled_tasks.append(task.task_id)

    async def forget(self, task: TaskRef) -> None:
        self._answer(task.node)
        self.forgotten.append(task.task_id)
        self.tasks.pop(task.task_id, None)

    def _task(self, task_id: str) -> FakeTask:
        if task_id not in self.tasks:
            raise NotFound(f"no task {task_id}")
        return self.tasks[task_id]

    def _answer(self, node: str) -> None:
        if node in self.away:
            raise _lost()

    def _with_ports(self, task: Task, count: int) -> Task:
        self._port += count
        return replace(task, placement=replace(task.placement, ports=tuple(range(self._port - count, self._port))))

    def _change(self, task_id: str, **facts: object) -> None:
        task = self.tasks[task_id]
        task.seen = replace(task.seen, **facts)  # type: ignore[arg-type]
        task.changed.set()
        if self.listener is not None and task.request.node not in self.away:
            self.listener.task_observed(self.cluster, task.seen)

    def _set_state(self, names: set[str], state: NodeState) -> None:
        self.machines = [
            replace(node, state=state, since=self.clock) if node.name in names else node for node in self.machines
        ]
        self.tell_nodes()


@dataclass(slots=True)
class FakeLogs:
    """Implements `ports.capabilities.TaskLogs`."""

    backend: FakeBackend

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        found = self._found(task)
        data = self._masked(found)[offset : offset + limit]
        return LogChunk(data, offset, len(found.log), not found.runs and offset + len(data) >= len(found.log))

    async def tail_offset(self, task: TaskRef, lines: int) -> int:
        found = self._found(task)
        kept = found.log.splitlines(keepends=True)[-lines:] if lines else []
        return len(found.log) - sum(map(len, kept))

    async def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        found, told = self._found(task), -1
        found.watchers += 1
        try:
            while len(found.log) > told or found.runs:
                if len(found.log) > told:
                    told = len(found.log)
                    yield told
                else:
                    found.changed.clear()
                    await found.changed.wait()
        finally:
            found.watchers -= 1

    async def collect(self, task: TaskRef, target: Path) -> None:
        self.backend._answer(task.node)
        if self.backend.log_error is not None:
            raise self.backend.log_error
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self._masked(self._found(task)))

    def _found(self, task: TaskRef) -> FakeTask:
        self.backend._answer(task.node)
        return self.backend._task(task.task_id)

    def _masked(self, found: FakeTask) -> bytes:
        return Masks(self.backend.secrets_given.get(found.request.task_id, {}).values()).masked(found.log)


@dataclass(slots=True)
class FakeUsage:
    """Implements `ports.capabilities.Usage`."""

    backend: FakeBackend

    def latest(self) -> Mapping[str, NodeUsage]:
        return self.backend.samples

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        return [one for one in self.backend.past_samples.get(node, ()) if one.received_at > since]

    async def look(self) -> None:
        """Tests say what is there."""

    def unknown_why(self) -> str:
        return ""


@dataclass(slots=True)
class FakeOutputs:
    """Implements `ports.capabilities.TaskOutputs`."""

    backend: FakeBackend

    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        self.backend._answer(task.node)
        if self.backend.output_error is not None:
            raise self.backend.output_error
        files, left_out = [], []
        for path, data in self.backend.outputs.items():
            if not any(_names(Pattern(text), path) for text in patterns):
                continue
            if not admit(len(data)):
                left_out.append(path)
                continue
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(data)
            files.append(OutputFile(path, len(data), self.backend.clock, hashlib.sha256(data).hexdigest()))
        too_deep, problem = self.backend.outputs_too_deep, self.backend.outputs_problem
        return Collected(tuple(files), tuple(left_out), too_deep=too_deep, problem=problem)


def _names(pattern: Pattern, path: str) -> bool:
    above = here = pattern.start
    for part in path.split("/"):
        above, here = here, pattern.step(here, part)
    return pattern.takes(above, here)


def _lost() -> Unreachable:
    return Unreachable("the node does not answer")
