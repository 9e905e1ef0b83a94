"""The state and services that all parts of the engine share. `bootstrap` makes it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from muster.domain.errors import Conflict, StaleWrite, Unavailable
from muster.domain.jobs import ELSEWHERE, Job
from muster.domain.limits import Limits
from muster.domain.nodes import Mark, Node, NodeMark
from muster.domain.resources import LEAST_CPU_M, Reserved, Resources
from muster.engine.state.cluster_settings import ActiveConfig
from muster.engine.state.event_hub import Hub
from muster.engine.state.kept_data import KeptData
from muster.engine.state.late_tasks import LateTasks
from muster.engine.state.node_failures import NodeHold
from muster.engine.state.open_jobs import OpenJobs
from muster.engine.state.open_sweeps import OpenSweep
from muster.engine.state.recorded_usage import Attempt, RecordedUsage
from muster.engine.state.reported_data import ReportedData
from muster.engine.state.reported_metrics import ReportedMetrics
from muster.lib.clock import Clock, wall_clock
from muster.ports.backend import Backend
from muster.ports.capabilities import EngineQueue, TaskRef
from muster.ports.exporting import ExportCounts
from muster.ports.log_records import LogDelivery
from muster.ports.secret_box import SecretBox
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
    """The folder of collected logs, with one folder for each job."""
    packages: Path
    clock: Clock = wall_clock
    keep_finished_s: float | None = None
    keep_data_s: float | None = None
    """How long logs, outputs and packages are kept after the end of their job; None means as long as the job."""
    max_output_bytes: int = 20 << 30
    """The limit for all collected outputs of one job."""
    has_private_jobs: bool = False
    """Whether users may know nothing about the jobs of others, not even their names in reasons."""
    limits: Limits = field(default_factory=Limits)
    secret_box: SecretBox | None = None
    """The box of the secrets; None in programs that need none, such as `muster server recover-admin`."""
    public_address: str = ""
    """Where people, and tasks that report to the server, reach it."""
    config: ActiveConfig = field(default_factory=ActiveConfig)
    hub: Hub = field(default_factory=Hub)
    exports: ExportCounts = field(default_factory=ExportCounts)
    log_delivery: LogDelivery = field(default_factory=LogDelivery)
    kept_data: KeptData = field(default_factory=KeptData)
    open_jobs: OpenJobs = field(default_factory=OpenJobs)
    open_sweeps: dict[str, OpenSweep] = field(default_factory=dict)
    """The sweeps that have not ended, by id."""
    clusters: dict[str, ClusterState] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something has changed that may let a waiting job start."""
    unconfirmed_jobs: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Jobs with a write that was not confirmed, so that the store may be ahead of memory."""
    marks: dict[tuple[str, str], NodeMark] = field(default_factory=dict)
    """Cordons and drains by admins, by cluster and node."""
    node_failures: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many attempts in a row failed on a node for its own reasons, by cluster and node."""
    hold_node_s: float = 10.0
    """How long a node is held back at first."""
    node_holds: dict[tuple[str, str], NodeHold] = field(default_factory=dict)
    """Nodes that get no tasks for a while, because they failed some for their own reasons."""
    is_held: bool = False
    """Whether the store was restored from a backup: nothing is started or stopped until an admin releases it."""
    differences: dict[str, str] = field(default_factory=dict)
    """The difference between a restored store and the nodes, of each task that has one."""
    lost_nodes: dict[str, frozenset[str]] = field(default_factory=dict)
    """The nodes of each cluster that have been unreachable for so long that their tasks are considered lost."""
    unconfirmed_nodes: set[tuple[str, str]] = field(default_factory=set)
    """Nodes, by cluster and name, that were unreachable and have not reported the state of their tasks since."""
    engine_needed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when an engine has to be polled: a gang was handed to it, or a job found no room in it."""
    poll_waiting_s: float = 5.0
    """How often an engine is polled at most while it has no task and jobs wait for room in it."""
    looking: set[str] = field(default_factory=set)
    """Clusters whose engines are asked what others use, before anything more is handed over to them."""
    late_tasks: LateTasks = field(default_factory=LateTasks)
    collecting_outputs: set[str] = field(default_factory=set)
    """Tasks whose outputs are being collected."""
    reported_data: ReportedData = field(default_factory=ReportedData)
    reported_metrics: ReportedMetrics = field(default_factory=ReportedMetrics)
    recorded_usage: dict[Attempt, RecordedUsage] = field(default_factory=dict)
    """The usage over time of attempts that run, or have just ended."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.clusters = {name: ClusterState(name) for name in self.backends}

    @property
    def outputs(self) -> Path:
        """The folder of collected outputs, with one folder for each job."""
        return self.logs.with_name("outputs")

    @property
    def models(self) -> Path:
        """The folder of registered models, with one folder for each version."""
        return self.logs.with_name("models")

    def nodes(self, cluster: str) -> list[Node]:
        """The nodes as the backend knows them, with the labels and marks that admins gave them, and with the capacity
        that is there for tasks."""
        nodes = self.backends[cluster].nodes()
        return [self._for_tasks(self._marked(self.config.labelled(node))) for node in nodes]

    def engine(self, cluster: str) -> EngineQueue | None:
        """The engine that places tasks on this cluster; None where Muster places them itself."""
        backend = self.backends.get(cluster)
        return backend.capabilities.engine if backend is not None else None

    def schedulable_nodes(self, cluster: str) -> list[Node]:
        """The nodes as the scheduler knows them. Those of an engine are one pool."""
        engine = self.engine(cluster)
        return self.nodes(cluster) if engine is None else [pooled_node(cluster, engine.pool())]

    def backend_of(self, job: Job) -> Backend:
        """The backend that runs the tasks of the job. Raises Conflict if there is none."""
        backend = self.backends.get(job.cluster)
        if backend is not None:
            return backend
        if job.cluster == ELSEWHERE:
            raise Conflict(f"job {job.name} was made outside of Muster, and nothing of it runs here")
        raise Conflict(f"job {job.name} ran on cluster {job.cluster}, which is no longer there")

    def demand_of(self, job: Job) -> JobDemand:
        """The job's demand, with what the folders and environments of its cluster require of a node. If an engine
        places tasks, it chooses the nodes by itself."""
        backend = self.backends.get(job.cluster)
        settings = backend.settings if backend is not None else None
        counted = partial(self.counted, job.cluster)
        demand = demand_of(job, settings, counted=counted, is_private=self.has_private_jobs)
        return replace(demand, where=ANYWHERE) if self.engine(job.cluster) is not None else demand

    def counted(self, cluster: str, asked: Resources) -> Resources:
        """What a task counts that asks for this: as much CPU as the engine gives it, and never none, so that a node has
        no room for tasks without end that ask for nothing."""
        engine, least = self.engine(cluster), asked.at_least(LEAST_CPU_M)
        return least if engine is None else least.in_units_of(engine.cpu_unit_m)

    def settled(self, cluster: str, task: TaskRef) -> None:
        """Let the backend clean up after a task whose end is recorded and whose log is collected."""
        backend = self.backends.get(cluster)
        if backend is not None and (cleanup := backend.capabilities.cleanup) is not None:
            cleanup.settled(task)

    def _for_tasks(self, node: Node) -> Node:
        """The node without what is reserved for the machine itself, and with room for as many tasks as admins allow."""
        settings = self.backends[node.cluster].settings
        reserved = self.config.reserved(node) or settings.reserved
        capacity = node.capacity if reserved == Reserved() else node.capacity.without(reserved)
        most = settings.tasks_per_node
        tasks = min(most, self.config.max_tasks(node) or most)
        return replace(node, capacity=replace(capacity, tasks=tasks))

    def _marked(self, node: Node) -> Node:
        node = node.held()
        if hold := self.node_holds.get((node.cluster, node.name)):
            node = hold.applied(node)
        mark = self.marks.get((node.cluster, node.name))
        if mark is None:
            return node
        is_empty = mark.mark is Mark.DRAINING and not self.open_jobs.tasks_on(node.cluster, node.name)
        return mark.applied(node, is_empty=is_empty)

    async def apply(self, change: Change) -> None:
        """Write a change. A write that was not confirmed may have happened nevertheless."""
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
        """Run a step in the background. It belongs to the engine: `drain` cancels it."""
        task = asyncio.create_task(self._guarded(work, what), name=what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # a step cancelled before it began was never awaited

    def later(self, delay_s: float, work: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
        """Run a step after a delay, if the engine still runs then."""

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
