"""The backend of a Kubernetes cluster: it creates the objects of gangs, watches their pods, and deletes them."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from muster.backends.kubernetes.archive_renewal import renew, waiting_secrets
from muster.backends.kubernetes.assigned_ports import assigned_ports
from muster.backends.kubernetes.capacity import gpu_choice, listed_nodes
from muster.backends.kubernetes.cluster_usage import EVERY_S, ClusterUsage
from muster.backends.kubernetes.cluster_view import ClusterView
from muster.backends.kubernetes.foreign_jobs import ForeignPaddleJobs
from muster.backends.kubernetes.gang_groups import GangGroups
from muster.backends.kubernetes.gang_objects import GangObjects, rendered
from muster.backends.kubernetes.launching import create_gang
from muster.backends.kubernetes.logs import PodLogs
from muster.backends.kubernetes.names import (
    GANG,
    SERVER,
    address,
    gang_name,
    own_labels,
    pod_name,
    selector,
    user_namespace,
)
from muster.backends.kubernetes.options import JobObjects, KubernetesOptions
from muster.backends.kubernetes.owners import Owners
from muster.backends.kubernetes.paddle_jobs import expected, is_of_operator, own_name, suits
from muster.backends.kubernetes.pod_state import handle, task_of
from muster.backends.kubernetes.spec_support import cannot_honour
from muster.backends.kubernetes.task_commands import PodCommands
from muster.backends.kubernetes.task_connections import PodConnections
from muster.backends.kubernetes.task_outputs import (
    PodOutputs,
    has_keeper,
    keeps_outputs,
    may_execute,
    overdue,
    stop_beside,
)
from muster.backends.kubernetes.task_table import TaskTable
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import MusterError, Problem, Unreachable
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.nodes import Node
from muster.domain.pools import Pool
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.kubernetes.connection import Connection, connect
from muster.kubernetes.errors import Missing, Refused
from muster.kubernetes.resources import CONFIG_MAPS, PADDLE_JOBS, PODS, Resource, key_of, labels_of
from muster.kubernetes.watched import Change
from muster.lib.backoff import exponential
from muster.lib.clock import Clock, wall_clock
from muster.lib.quantities import format_duration
from muster.ports.archives import Archives
from muster.ports.backend import (
    BackendListener,
    Launched,
    Observation,
    Observed,
    Phase,
    Rendered,
    RenderedFile,
    Scope,
)
from muster.ports.capabilities import Capabilities, PastEnd, TaskRef, TaskSecrets

_log = structlog.get_logger("backends.kubernetes")
_ARCHIVE_LIFETIME_S = 6 * 3600.0
_TEND_PODS_S = 3600.0
"""Pods may wait for days. The addresses of their archives are renewed until they have been used."""
_LOOK_AT_NODES_S = 5.0
_STOPS_AT_ONCE = 32


class KubernetesBackend:
    """Implements `ports.backend.Backend`, and the capabilities `engine` and `cleanup`."""

    poll_s = 30.0
    """The pods are watched. Asking for all of them once in a while finds what a watch might have missed."""

    def __init__(
        self,
        settings: PhysicalCluster,
        *,
        archives: Archives,
        identity: str,
        home: Path,
        log_bytes: int | None = None,
        certificate: Path | None = None,
        clock: Clock = wall_clock,
        usage_every_s: float = EVERY_S,
    ) -> None:
        self.cluster = settings.name
        self.settings = settings
        self._archives, self._clock = archives, clock
        self._certificate = certificate
        self._labels = own_labels(identity, settings.name)
        self._table = TaskTable(pull_timeout_s=self._options.image_pull_timeout_s, clock=clock)
        self._task_commands = PodCommands(self._connected)
        self._task_connections = PodConnections(self._connected)
        self._logs = PodLogs(home / settings.name, log_bytes)
        self._listener: BackendListener | None = None
        self._connection: Connection | None = None
        self._view: ClusterView | None = None
        self._problem = "it is not connected yet"
        self._running: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._launches: dict[str, asyncio.Lock] = {}
        self._has_paddle_jobs = False
        self._known_pool: Pool | None = None
        self._known_nodes: list[Node] = []
        self._usage = ClusterUsage(clock, usage_every_s)
        self._outputs = PodOutputs(self._reachable_pod, self._outputs_gone)
        self._may_execute = True
        self._stopping = asyncio.Semaphore(_STOPS_AT_ONCE)
        self._foreign = ForeignPaddleJobs(self._labels)
        self._groups = GangGroups(self._options.scheduling)
        self.capabilities = self._offered()

    @property
    def _options(self) -> KubernetesOptions:
        assert isinstance(self.settings.options, KubernetesOptions)
        return self.settings.options

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        self._running = asyncio.create_task(self._run(), name=f"kubernetes {self.cluster}")

    async def close(self) -> None:
        await self._disconnect()
        await self._logs.close()

    async def configure(self, settings: PhysicalCluster) -> None:
        is_same = settings.options == self.settings.options
        self.settings = settings
        self.capabilities = self._offered()
        if not is_same:
            self._groups = GangGroups(self._options.scheduling)
        if not is_same and self._running is not None:
            await self._disconnect()
            self._running = asyncio.create_task(self._run(), name=f"kubernetes {self.cluster}")

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return list(cannot_honour(spec, self.settings, self._options, may_execute=self._may_execute))

    def nodes(self) -> list[Node]:
        return self._known_nodes

    @property
    def cpu_unit_m(self) -> int:
        return 1

    def pool(self) -> Pool | None:
        return self._known_pool

    def unknown_why(self) -> str:
        """Implements `ports.capabilities.EngineQueue`, as `pool` does."""
        if self._known_pool is not None:
            return ""
        return (self._view.problem or self._groups.problem) if self._view is not None else self._problem

    async def look(self, max_age_s: float = 3.0) -> None:
        """Nodes and pods are watched."""

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        """Names and ports are known before the pods exist."""
        name_of = pod_name if self._becomes_paddle_job(gang.spec) else address
        own = assigned_ports(gang, ports)
        return tuple(
            replace(task, placement=replace(task.placement, address=name_of(task.id), ports=own[task.id]))
            for task in gang.tasks
        )

    def render(self, launch: GangLaunch) -> Rendered:
        return Rendered(
            (RenderedFile(f"{gang_name(launch.gang.key)}.yaml", rendered(self._objects(launch, self._groups.shown()))),)
        )

    async def launch(self, launch: GangLaunch) -> Launched:
        connection, key = self._connected(), launch.gang.key
        objects = self._objects(launch, self._groups.required())
        namespace = self._namespace(connection, launch.gang.owner)
        urls = {digest: self._archives.url(digest, _ARCHIVE_LIFETIME_S) for digest in launch.requests[0].digests}
        lock = self._launches.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                await create_gang(
                    connection,
                    objects,
                    namespace,
                    urls,
                    makes_namespace=self._options.is_per_user,
                )
        finally:
            if not lock.locked():
                self._launches.pop(key, None)
        return Launched({one.task_id: handle(namespace, pod_name(one.task_id)) for one in launch.pending})

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        connection = self._connected()
        await self._stop_paddle_jobs(connection, tasks)
        answers = await asyncio.gather(
            *(self._stop(connection, task, grace_s) for task in tasks), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, MusterError):
                raise answer
        missed = [task.task_id for task, answer in zip(tasks, answers, strict=True) if answer is not None]
        failure = next((answer for answer in answers if isinstance(answer, Unreachable)), None)
        if failure is not None and len(missed) == len(tasks):
            raise failure
        return missed

    async def observe_all(self, node: str | None = None) -> Observed:
        try:
            connection = self._connected()
            namespace, labels = self._watched_namespace(connection), selector(self._labels)
            jobs = await connection.list(PADDLE_JOBS, namespace, labels=labels) if self._uses_paddle_jobs else []
            pods = await connection.list(PODS, namespace, labels=labels)
        except MusterError as error:
            _log.warning("pods not listed", cluster=self.cluster, error=str(error))
            return Observed((), Scope())
        found: list[Observation] = []
        for pod in pods:
            if (seen := self._seen(connection, pod)) is not None:
                found.append(seen)
        listed = {task_of(pod) for pod in pods}
        for end in self._table.past(listed):
            self._logs.ended(end.task_id)
            found.append(end)
        for job in jobs:
            found += [one for one in expected(job, key_of(job)[0]) if self._table.is_open(one.task_id, listed)]
        found = [self._with_usage(one) for one in found]
        if node is not None:
            found = [one for one in found if one.node == node]
            return Observed(tuple(found), Scope(frozenset({node})))
        return Observed(tuple(found), Scope(everything=True))

    def settled(self, task: TaskRef) -> None:
        """The gang is removed with the last of its tasks, and pods that still hold resources before that."""
        self._table.settle(task.task_id)
        self._usage.forget(task.task_id)
        self._logs.forget(task.task_id)
        gang = task.task_id.rsplit(".", 2)[0]
        left = self._view.own_pods(gang) if self._view is not None else ()
        if self._connection is None:
            return
        if all(task_of(pod) in self._table.settled for pod in left):
            self._spawn(self._remove_gang(self._connection, gang, task))
        elif any(task_of(pod) == task.task_id and has_keeper(pod) for pod in left):
            self._spawn(self._remove_pod(self._connection, task))

    async def forget(self, task: TaskRef) -> None:
        connection = self._connected()
        self._table.settle(task.task_id)
        self._usage.forget(task.task_id)
        self._logs.forget(task.task_id)
        if (where := self._where(connection, task)) is not None:
            with suppress(Missing):
                await connection.delete(PODS, where[1], where[0], grace_s=1)

    async def removed(self, tasks: Sequence[TaskRef]) -> str:
        """Implements `ports.capabilities.Removals`: the gang is there as long as its owner is."""
        connection = self._connected()
        where = self._where(connection, tasks[0])
        if where is None:
            return ""
        kinds = (CONFIG_MAPS, PADDLE_JOBS) if self._uses_paddle_jobs else (CONFIG_MAPS,)
        try:
            return await self._owners(connection).removal(tasks[0].task_id.rsplit(".", 2)[0], where[0], *kinds)
        except Refused as error:
            _log.warning("owner of lost tasks not read", task=tasks[0].task_id, error=str(error))
            return ""

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        return []

    def _offered(self) -> Capabilities:
        foreign = self._foreign if self._options.shows_foreign_jobs else None
        return Capabilities(
            engine=self,
            removals=self,
            logs=self._logs,
            log_times=self._logs,
            outputs=self._outputs,
            cleanup=self,
            task_commands=self._task_commands,
            task_connections=self._task_connections,
            usage=self._usage,
            secrets=TaskSecrets(),
            foreign_jobs=foreign,
        )

    def _becomes_paddle_job(self, spec: JobSpec) -> bool:
        wanted = self._options.jobs
        is_meant = wanted is JobObjects.PADDLE_JOB or (wanted is JobObjects.AUTO and self._has_paddle_jobs)
        return is_meant and suits(spec)

    def _objects(self, launch: GangLaunch, groups: Resource | None) -> GangObjects:
        nodes = tuple(self._view.nodes) if self._view is not None else ()
        return GangObjects(
            launch,
            self.settings,
            self._options,
            self._labels,
            gpus_of=lambda asked: gpu_choice(asked, nodes, self._options),
            groups=groups,
            certificate=_text(self._certificate),
        )

    def _owners(self, connection: Connection) -> Owners:
        return Owners(connection, self._labels[SERVER])

    def _connected(self) -> Connection:
        if self._connection is None:
            raise Unreachable(f"cluster {self.cluster} cannot be reached: {self._problem}")
        return self._connection

    def _namespace(self, connection: Connection, owner: str) -> str:
        template = self._options.namespace or connection.namespace
        return user_namespace(template, owner) if self._options.is_per_user else template

    def _watched_namespace(self, connection: Connection) -> str | None:
        return None if self._options.is_per_user else self._namespace(connection, "")

    def _where(self, connection: Connection, task: TaskRef) -> tuple[str, str] | None:
        """Namespace and name of the pod; None for one that cannot be there, as nobody has ever seen it."""
        if task.handle:
            namespace, _, name = task.handle.partition("/")
            return namespace, name
        if not self._options.is_per_user:
            return self._namespace(connection, ""), pod_name(task.task_id)
        pods = self._view.own_pods(task.task_id.rsplit(".", 2)[0]) if self._view is not None else ()
        return next((key_of(pod) for pod in pods if task_of(pod) == task.task_id), None)

    async def _stop(self, connection: Connection, task: TaskRef, grace_s: float) -> None:
        where = self._where(connection, task)
        if task.task_id in self._table.ends or where is None:
            self._tell(self._table.unknown(task.task_id))
            return
        self._table.ordered.add(task.task_id)
        if await self._stop_beside(connection, task, grace_s):
            return
        try:
            # Without a second of grace, Kubernetes forgets a pod before its node has ended it.
            await connection.delete(PODS, where[1], where[0], grace_s=max(1, math.ceil(grace_s)))
        except Missing:
            self._tell(self._table.unknown(task.task_id))

    async def _stop_beside(self, connection: Connection, task: TaskRef, grace_s: float) -> bool:
        """Stop a task whose outputs will be collected without deleting its pod. Whether that was possible."""
        pods = self._view.own_pods(task.task_id.rsplit(".", 2)[0]) if self._view is not None else ()
        pod = next((one for one in pods if task_of(one) == task.task_id), None)
        if pod is None or not keeps_outputs(pod):
            return False
        async with self._stopping:
            if await stop_beside(connection, *key_of(pod), grace_s):
                return True
        _log.warning("task stopped with its pod: its outputs are lost", task=task.task_id)
        return False

    def _reachable_pod(self, task: TaskRef) -> tuple[Connection, str, str] | None:
        connection = self._connected()
        where = self._where(connection, task)
        return (connection, *where) if where is not None else None

    def _outputs_gone(self, task: TaskRef) -> None:
        """Nobody settles such a task. If it was the last of its gang, nothing else would remove that."""
        gang, view = task.task_id.rsplit(".", 2)[0], self._view
        if self._connection is None or view is None or not view.pods.synced.is_set():
            return
        if all(task_of(pod) in self._table.settled for pod in view.own_pods(gang)):
            self._spawn(self._remove_gang(self._connection, gang, task))

    async def _remove_pod(self, connection: Connection, task: TaskRef) -> None:
        """If this fails, the pod is removed with its gang."""
        if (where := self._where(connection, task)) is not None:
            with suppress(MusterError):
                await connection.delete(PODS, where[1], where[0], grace_s=1)

    async def _stop_paddle_jobs(self, connection: Connection, tasks: Sequence[TaskRef]) -> None:
        """The operator would replace pods that are deleted. Muster stops whole gangs, so their jobs go first."""
        if not self._uses_paddle_jobs:
            return
        gangs = {task.task_id.rsplit(".", 2)[0]: task for task in tasks}
        for gang, task in gangs.items():
            pods = self._view.own_pods(gang) if self._view is not None else ()
            where = self._where(connection, task)
            if where is None or any(not is_of_operator(pod) for pod in pods):
                continue
            self._table.ordered.update(one.task_id for one in tasks)
            with suppress(Missing):
                await connection.delete(PADDLE_JOBS, gang_name(gang), where[0])

    @property
    def _uses_paddle_jobs(self) -> bool:
        return self._has_paddle_jobs and self._options.jobs is not JobObjects.PODS

    async def _remove_gang(self, connection: Connection, gang: str, task: TaskRef) -> None:
        where = self._where(connection, task)
        namespace = where[0] if where is not None else self._namespace(connection, "")
        left = [gang_name(gang), *([own_name(gang)] if self._uses_paddle_jobs else [])]
        tries = 0
        while left:
            try:
                await connection.delete(CONFIG_MAPS, left[-1], namespace)
                left.pop()
            except Missing:
                left.pop()
            except MusterError as error:
                tries += 1
                _log.warning("gang not removed, will try again", gang=gang, error=str(error))
                await asyncio.sleep(exponential(tries, first_s=1.0, limit_s=300.0))

    async def _run(self) -> None:
        """Connect and watch for ever. What fails is tried again, as a kubeconfig may be repaired."""
        tries = 0
        while True:
            try:
                self._connection = connect(self._options.kubeconfig, self._options.context)
                where = self._watched_namespace(self._connection)
                self._view = ClusterView(
                    self._connection,
                    where,
                    self._options,
                    self._labels,
                    self._pod_changed,
                    self._capacity_changed,
                )
                self._has_paddle_jobs = await self._connection.offers(PADDLE_JOBS)
                self._may_execute = await may_execute(self._connection, where)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._view.run())
                    group.create_task(self._announce(self._view))
                    group.create_task(self._look_at_nodes(self._view))
                    group.create_task(self._tend_pods(self._connection, self._view))
                    group.create_task(self._usage.run(self._connection, self._view, where, selector(self._labels)))
                    group.create_task(self._groups.find(self._connection, self._options, self._capacity_changed))
                    if self._options.shows_foreign_jobs:
                        group.create_task(self._foreign.run(self._connection, self._options))
            except* MusterError as errors:
                self._problem = str(errors.exceptions[0])
                _log.warning("cluster not watched", cluster=self.cluster, error=self._problem)
            except* Exception as errors:
                self._problem = str(errors.exceptions[0])
                _log.exception("watching failed", cluster=self.cluster)  # the next round finds the loop alive
            tries += 1
            await self._close_connection()
            await asyncio.sleep(exponential(tries, first_s=0.5, limit_s=30.0))

    async def _announce(self, view: ClusterView) -> None:
        """The first complete list may have ends that nobody has seen."""
        await view.pods.synced.wait()
        if self._listener is not None:
            self._listener.reconnected(self.cluster, None)

    async def _look_at_nodes(self, view: ClusterView) -> None:
        """Report the tasks of nodes that have been silent for too long, and why no nodes are known."""
        told = ""
        while True:
            await asyncio.sleep(_LOOK_AT_NODES_S)
            if self._listener is not None and self.unknown_why() != told:
                told = self.unknown_why()
                self._listener.nodes_changed(self.cluster)
            if all(node.is_ready for node in view.nodes):
                continue
            for pod in view.pods:
                if view.is_own(pod) and self._lost_node(pod):
                    self._report(pod)

    async def _tend_pods(self, connection: Connection, view: ClusterView) -> None:
        while True:
            await asyncio.sleep(_TEND_PODS_S)
            pods = [pod for pod in view.pods if view.is_own(pod)]
            for namespace, name in waiting_secrets(pods):
                try:
                    await renew(connection, namespace, name, lambda one: self._archives.url(one, _ARCHIVE_LIFETIME_S))
                except MusterError as error:
                    _log.warning("archives not renewed", secret=name, error=str(error))
            for task in overdue(pods, self._clock()):
                _log.warning("pod removed, although its outputs were not collected", task=task.task_id)
                self.settled(task)

    async def _disconnect(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        errands = list(self._errands)
        for errand in errands:
            errand.cancel()
        await asyncio.gather(*errands, return_exceptions=True)
        await self._close_connection()

    async def _close_connection(self) -> None:
        connection, self._connection, self._view = self._connection, None, None
        await self._logs.pause()
        if connection is not None:
            await connection.close()

    def _pod_changed(self, change: Change) -> None:
        connection, pod = self._connection, change.object
        if connection is None:
            return
        is_gone = change.after is None
        if self._table.is_withdrawn(pod, is_gone=is_gone):
            self._spawn(self._look_at_owner(connection, pod, is_gone=is_gone))
        elif is_gone:
            self._say_gone(pod)
        else:
            self._report(pod)

    async def _look_at_owner(self, connection: Connection, pod: Mapping[str, Any], *, is_gone: bool) -> None:
        """Somebody deletes a pod of a task that Muster has not stopped. Did they delete the whole gang?"""
        owner_kind = PADDLE_JOBS if is_of_operator(pod) else CONFIG_MAPS
        try:
            words = await self._owners(connection).removal(labels_of(pod)[GANG], key_of(pod)[0], owner_kind)
        except MusterError as error:
            _log.warning("owner of a deleted pod not read", task=task_of(pod), error=str(error))
            words = ""
        if words and (seen := self._table.observation(pod)) is not None:
            self._tell(replace(seen, cancelled=words))
        if is_gone:
            self._say_gone(pod)
        else:
            self._report(pod)

    def _say_gone(self, pod: Mapping[str, Any]) -> None:
        task = task_of(pod)
        end = self._table.gone(pod)
        if end is None:
            self._table.has_gone(task)
            return
        self._logs.ended(task)
        self._tell(end)

    def _report(self, pod: Mapping[str, Any]) -> None:
        if self._connection is not None and (seen := self._seen(self._connection, pod)) is not None:
            self._tell(seen)

    def _seen(self, connection: Connection, pod: Mapping[str, Any]) -> Observation | None:
        seen = self._table.observation(pod, self._lost_node(pod))
        if seen is None:
            return None
        self._logs.seen(connection, pod)
        if seen.phase is Phase.LOST:
            self._logs.lost(seen.task_id)
        elif seen.phase is Phase.ENDED:
            self._logs.ended(seen.task_id)
        return seen

    def _lost_node(self, pod: Mapping[str, Any]) -> str:
        """Why the node of the pod counts as lost; empty if it does not."""
        node = self._view.node(pod["spec"].get("nodeName") or "") if self._view is not None else None
        if node is None or node.is_ready or node.not_ready_since is None:
            return ""
        silent_s = self._clock() - node.not_ready_since
        if silent_s < self.settings.lost_after_s:
            return ""
        return f"node {node.name} has not been ready for {format_duration(silent_s)}: {node.not_ready_why}"

    def _capacity_changed(self) -> None:
        if self._view is None or self._listener is None:
            return
        nodes = listed_nodes(self._view.nodes, self.cluster)
        pool = None if self._groups.problem else self._view.pool()
        if (nodes, pool) != (self._known_nodes, self._known_pool):
            self._known_nodes, self._known_pool = nodes, pool
            self._listener.nodes_changed(self.cluster)

    def _tell(self, observation: Observation) -> None:
        if self._listener is not None:
            self._listener.task_observed(self.cluster, self._with_usage(observation))

    def _with_usage(self, seen: Observation) -> Observation:
        """An end with what the task used, as far as it was sampled."""
        return replace(seen, used=self._usage.used(seen.task_id)) if seen.phase in (Phase.ENDED, Phase.LOST) else seen

    def _spawn(self, errand: Any) -> None:
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)


def _text(path: Path | None) -> str:
    try:
        return path.read_text() if path is not None else ""
    except OSError:
        return ""
