"""What every part of the engine shares, handed in by `bootstrap`."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog

from muster.domain.errors import StaleWrite, Unavailable
from muster.domain.jobs import Job
from muster.domain.nodes import Node, NodeMark
from muster.engine.state.cluster_settings import ActiveConfig
from muster.engine.state.event_hub import Hub
from muster.engine.state.open_jobs import OpenJobs
from muster.lib.clock import Clock, wall_clock
from muster.ports.backend import Backend
from muster.ports.capabilities import EngineQueue, TaskRef
from muster.ports.exporting import ExportCounts
from muster.ports.store import Change, Store
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import ANYWHERE, JobDemand, demand_of
from muster.scheduling.pooled import pooled_node

_log = structlog.get_logger("engine")


@dataclass(slots=True)
class Context:
    store: Store
    backends: dict[str, Backend]
    default_cluster: str
    logs: Path
    """Where collected logs are kept, one folder a job."""
    packages: Path
    clock: Clock = wall_clock
    keep_finished_s: float | None = None
    max_output_bytes: int = 20 << 30
    """Of all that is brought back of one job."""
    config: ActiveConfig = field(default_factory=ActiveConfig)
    hub: Hub = field(default_factory=Hub)
    exports: ExportCounts = field(default_factory=ExportCounts)
    open_jobs: OpenJobs = field(default_factory=OpenJobs)
    clusters: dict[str, ClusterState] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Something changed that may let a waiting job start."""
    unconfirmed_jobs: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Jobs of which the store may know more than we do."""
    marks: dict[tuple[str, str], NodeMark] = field(default_factory=dict)
    """What admins decided, by cluster and node."""
    lost_nodes: dict[str, frozenset[str]] = field(default_factory=dict)
    """By cluster, nodes that have been silent for so long that their tasks were taken for lost."""
    unconfirmed_nodes: set[tuple[str, str]] = field(default_factory=set)
    """By cluster and node, nodes that were silent and have not said since what has become of their tasks."""
    handed_over: asyncio.Event = field(default_factory=asyncio.Event)
    """A gang was handed to an engine, whose answers have to be polled for."""
    collecting_outputs: set[str] = field(default_factory=set)
    """Tasks whose outputs are on their way."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.clusters = {name: ClusterState(name) for name in self.backends}

    @property
    def outputs(self) -> Path:
        """Where outputs are kept, one folder a job."""
        return self.logs.with_name("outputs")

    def nodes(self, cluster: str) -> list[Node]:
        """As the backend knows them, with what admins wrote and decided of them."""
        return [self._marked(self.config.labelled(node)) for node in self.backends[cluster].nodes()]

    def engine(self, cluster: str) -> EngineQueue | None:
        """The engine that places tasks on this cluster; None where Muster places them itself."""
        backend = self.backends.get(cluster)
        return backend.capabilities.engine if backend is not None else None

    def schedulable_nodes(self, cluster: str) -> list[Node]:
        """The nodes as the scheduler knows them: an engine's are one pool."""
        engine = self.engine(cluster)
        return self.nodes(cluster) if engine is None else [pooled_node(cluster, engine.pool())]

    def demand_of(self, job: Job) -> JobDemand:
        """With what its cluster's folders and environments ask of a node. Where an engine places tasks, which nodes do
        is its own affair."""
        backend = self.backends.get(job.cluster)
        if self.engine(job.cluster) is not None:
            return replace(demand_of(job), where=ANYWHERE)
        return demand_of(job, backend.settings if backend is not None else None)

    def settled(self, cluster: str, task: TaskRef) -> None:
        """Its end is recorded and nobody needs what its backend keeps of it."""
        backend = self.backends.get(cluster)
        if backend is not None and (cleanup := backend.capabilities.cleanup) is not None:
            cleanup.settled(task)

    def _marked(self, node: Node) -> Node:
        mark = self.marks.get((node.cluster, node.name))
        if mark is None:
            return node
        return mark.applied(node, is_empty=not self.open_jobs.tasks_on(node.cluster, node.name))

    async def apply(self, change: Change) -> None:
        """Write a job's change. A write that was not confirmed may have happened all the same."""
        with self._noting_unconfirmed([change]):
            await self.store.apply(change)

    async def apply_all(self, changes: Sequence[Change]) -> None:
        with self._noting_unconfirmed(changes):
            await self.store.apply_all(changes)

    @contextmanager
    def _noting_unconfirmed(self, changes: Sequence[Change]) -> Iterator[None]:
        try:
            yield
        except (StaleWrite, Unavailable):
            for change in changes:
                if job := change.job or change.new_job or change.rewritten_job:
                    self.unconfirmed_jobs.put_nowait(job.id)
            raise

    def spawn(self, work: Coroutine[Any, Any, None], what: str) -> None:
        """Run a step beside the others. It belongs to the engine: `close` waits for it or cancels it."""
        task = asyncio.create_task(self._guarded(work, what), name=what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # a step cancelled before it began was never awaited

    def later(self, delay_s: float, work: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
        """Run a step after a while, if the engine still runs then."""

        async def waited() -> None:
            await asyncio.sleep(delay_s)
            await work()

        self.spawn(waited(), what)

    async def drain(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _guarded(self, work: Coroutine[Any, Any, None], what: str) -> None:
        try:
            await work
        except Exception:
            _log.exception("step failed", step=what)
