"""The Slurm backend: hands gangs over to Slurm by the agent on its login node, and reports what becomes of them."""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from muster.agent.batch.programs import REJECTED, UNREACHABLE
from muster.agent.system.frames import Message
from muster.backends.agents.agent_process import Streams
from muster.backends.agents.archive_transfer import ArchiveTransfer
from muster.backends.agents.connection import CONNECT_WITHIN_S, AgentNode, quietly
from muster.backends.agents.logs import AgentLogs
from muster.backends.agents.output_collection import OutputCollection
from muster.backends.agents.task_commands import AgentCommands
from muster.backends.agents.task_connections import AgentConnections
from muster.backends.agents.task_data import PoolLogs
from muster.backends.slurm.amounts import total
from muster.backends.slurm.batch_script import Place, batch_script, job_name, job_names, shown_script
from muster.backends.slurm.cluster_view import ClusterView
from muster.backends.slurm.gang_marks import GangMarks, read_task
from muster.backends.slurm.gang_mirror import GangMirror
from muster.backends.slurm.job_facts import JobFacts
from muster.backends.slurm.launch_secrets import launch_secrets
from muster.backends.slurm.login_agent import LoginNode
from muster.backends.slurm.node_use import own_use
from muster.backends.slurm.observing import kept_end, needs_slurm, observation, observations
from muster.backends.slurm.options import SlurmOptions, SubmitAs, slurm_options
from muster.backends.slurm.pace import Pace
from muster.backends.slurm.place_changes import PlaceChange, at_the_place_of, changed_keys
from muster.backends.slurm.queries import Jobs, SlurmQueries
from muster.backends.slurm.refusals import explained
from muster.backends.slurm.sbatch_options import GpuTypes, gang_amounts
from muster.backends.slurm.spec_support import cannot_honour
from muster.backends.slurm.task_steps import InTask
from muster.backends.slurm.unsent_outputs import with_unsent
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, Problem, Rejected, Unreachable
from muster.domain.exit_causes import REFUSED
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.nodes import Node
from muster.domain.pools import Pool
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.launch.symbols import assign_symbols
from muster.lib.backoff import exponential
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
from muster.ports.capabilities import Capabilities, Collected, PastEnd, TaskRef, TaskSecrets, Unready

_log = structlog.get_logger("backends.slurm")
LOGIN = "login"
_LOOK_AFTER_S = 3.0
"""Nodes that were asked for so long ago are asked for anew when somebody looks."""
_LOOK_WAIT_S = 3.0
_CANCEL_AFTER_S = 15.0
"""A job whose tasks should have ended this long ago is cancelled in Slurm."""


class SlurmBackend:
    """Implements `ports.backend.Backend` and the capabilities engine, shipping, outputs and cleanup."""

    def __init__(
        self,
        settings: PhysicalCluster,
        archives: Archives,
        *,
        identity: str,
        epoch: int = 0,
        home: Path,
        log_bytes: int | None = None,
        output_bytes: int = 1 << 60,
        connect_within_s: float = CONNECT_WITHIN_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.cluster = settings.name
        self.settings = settings
        self._archives = archives
        self._identity = identity
        self._epoch = epoch
        self._home = home
        self._log_bytes = log_bytes
        self._output_bytes = output_bytes
        self._clock = clock
        self._options = slurm_options(settings)
        self._login_node = self._new_login_node()
        self._listener: BackendListener | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._problem = "the login node has not answered yet"
        self._is_open = False
        self._relay = ""
        self._looking: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._late = ""
        self._pace = Pace()
        self._queries = SlurmQueries(self._ask_slurm)
        self._view = ClusterView(self.cluster)
        self._mirror = GangMirror()
        self._mirroring = asyncio.Lock()
        self._launching: set[str] = set()
        self._unanswered: set[str] = set()
        """The gangs of which nobody knows whether Slurm has them."""
        self._place_change: PlaceChange | None = None
        self._moving: asyncio.Task[None] | None = None
        self._agent = AgentNode(
            LOGIN,
            self.cluster,
            self._connected,
            connect_within_s=connect_within_s,
            on_push=self._pushed,
            on_change=self._agent_changed,
            on_ready=self._agent_ready,
        )
        self._logs = AgentLogs(log_bytes)
        self._shipping = ArchiveTransfer(self._ask_node, lambda _: self._agent.outward)
        self._outputs = OutputCollection(self._ask_node, lambda _: self._agent.inward)
        self._task_logs = PoolLogs(lambda _: self._agent, self._logs)
        self._task_commands = AgentCommands(self._in_task)
        self._task_connections = AgentConnections(self._in_task)

    # Lifetime

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        self._spawn(self._agent.start())

    async def close(self) -> None:
        errands = list(self._errands)
        for errand in errands:
            errand.cancel()
        await asyncio.gather(*errands, return_exceptions=True)
        await self._task_commands.close()
        await self._task_connections.close()
        await self._shipping.close()
        await self._logs.close()
        await self._agent.close()

    async def configure(self, settings: PhysicalCluster) -> None:
        """While gangs are left where the cluster is, it stays there."""
        self.settings = settings
        wanted = slurm_options(settings)
        keys = changed_keys(self._options, wanted)
        left = len(self._mirror.gangs) + len(self._launching)
        if not keys or not left:
            self._place_change = None
            self._use(wanted)
            return
        self._place_change = PlaceChange(keys, wanted, settings.lost_after_s, left)
        self._use(at_the_place_of(self._options, wanted))
        if self._moving is None or self._moving.done():
            self._moving = self._spawn(self._move())

    def _use(self, options: SlurmOptions) -> None:
        before, self._options = self._options, options
        if options != before:
            self._login_node = self._new_login_node()
            self._agent.reconnect()

    async def _move(self) -> None:
        """Wait until nothing is left at the old place. The change may be taken back meanwhile."""
        while (change := self._place_change) is not None:
            with suppress(BackendError):
                await self._gangs()
            gangs, is_answering = self._mirror.gangs.values(), self._view.pool is not None
            is_due = change.is_due(gangs, len(self._launching), is_answering=is_answering)
            if is_due and change is self._place_change:
                _log.info("cluster has moved", cluster=self.cluster, keys=change.keys)
                self._place_change, self._view.pool, self._is_open = None, None, False
                self._problem = "the login node has not answered yet"
                self._use(change.wanted)
            if self._listener is not None:
                self._listener.nodes_changed(self.cluster)
            await asyncio.sleep(self._options.poll_s)

    # What it can do

    @property
    def capabilities(self) -> Capabilities:
        """Without a shared folder, what nodes are told over the network is not encrypted."""
        return Capabilities(
            engine=self,
            shipping=self,
            logs=self._task_logs,
            log_times=self._task_logs,
            outputs=self,
            cleanup=self,
            secrets=TaskSecrets() if self._options.is_shared else None,
            task_commands=self._task_commands,
            task_connections=self._task_connections,
        )

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return list(cannot_honour(spec, self.settings))

    def nodes(self) -> list[Node]:
        return list(self._view.nodes)

    @property
    def poll_s(self) -> float:
        return self._pace.poll_s(self._options.poll_s)

    @property
    def cpu_unit_m(self) -> int:
        return 1000

    def pool(self) -> Pool | None:
        """A cluster that leaves has none, so that nothing more is handed over."""
        pool = None if self.settings.is_leaving else self._view.pool
        if pool is not None and self._place_change is not None:
            return self._place_change.held(pool)
        return pool if pool is None or not self._late else replace(pool, note=self._late)

    def unknown_why(self) -> str:
        if self.settings.is_leaving:
            return "its cluster file was removed, so that it takes no more jobs"
        return "" if self._view.pool is not None else self._problem

    async def look(self, max_age_s: float = _LOOK_AFTER_S) -> None:
        """While Slurm is away, it is looked for anyway."""
        if self._view.pool is None or not self._pace.is_old(max_age_s):
            return
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._spawn(self._refresh())
        done, _ = await asyncio.wait([self._refreshing], timeout=_LOOK_WAIT_S)
        if not done:
            age = format_duration(round(self._pace.nodes_age_s()))
            self._late = f"Slurm has not answered yet: nodes are shown as they were {age} ago"

    async def _refresh(self) -> None:
        try:
            await self._ask_about(await self._gangs(), with_nodes=True)
        except BackendError as error:
            self._away(error)

    # Launching

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        return assign_symbols(gang, ports)

    def render(self, launch: GangLaunch) -> Rendered:
        script = shown_script(launch, self._options, self._place(), self._gpu_types())
        return Rendered((RenderedFile(f"{launch.gang.key}.sbatch", script),))

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        """Send packages and inputs to the login node."""
        try:
            for digest in dict.fromkeys(digest for request in launch.requests for digest in request.digests):
                await self._shipping.ensure(LOGIN, digest, self._archives.path(digest))
        except BackendError as error:
            return [Unready("", error.reason, error.message)]
        return []

    def progress(self, digests: Any) -> str:
        return self._shipping.progress(digests)

    async def launch(self, launch: GangLaunch) -> Launched:
        if not launch.requests:
            return Launched()
        key = launch.gang.key
        self._launching.add(key)
        try:
            launched = await self._submit(launch)
        except Unreachable:
            self._unanswered.add(key)
            raise
        finally:
            self._launching.discard(key)
        self._unanswered.discard(key)
        return launched

    async def _submit(self, launch: GangLaunch) -> Launched:
        unready = await self.prepare(launch)
        if unready:
            raise BackendError(unready[0].message, reason=unready[0].code)
        if not self._is_open:
            await self._gangs()  # the login node says where the nodes find it
        token = secrets.token_hex(16)
        script = batch_script(launch, self._options, self._place(token), self._gpu_types())
        answer = await self._submitted(
            launch.gang,
            key=launch.gang.key,
            name=job_name(launch),
            tasks=[task.id for task in launch.gang.tasks],
            digests=sorted({digest for request in launch.requests for digest in request.digests}),
            options=[],
            token=token,
            amounts=gang_amounts(launch.gang, self._gpu_types()),
            user=launch.gang.owner if self._options.submit_as is SubmitAs.USER else "",
            secrets=launch_secrets(launch, f"{self._login_node.root}/gangs/{launch.gang.key}/tasks"),
            log_bytes=self._log_bytes,
            relay="" if self._options.is_shared else self._relay,
            output_bytes=None if self._options.is_shared else self._output_bytes,
            earlier=self._earlier(launch),
            data=script.encode(),
        )
        return Launched({task.id: str(answer["job"]) for task in launch.gang.tasks})

    async def _submitted(self, gang: Gang, **arguments: Any) -> Message:
        try:
            return await self._order("batch_submit", **arguments)
        except Unreachable:
            raise
        except BackendError as error:
            self._logs.never_started(task.id for task in gang.tasks)
            if isinstance(error, Rejected):
                raise Rejected(explained(error.message), reason=REFUSED) from None
            raise

    def _earlier(self, launch: GangLaunch) -> dict[str, Any] | None:
        """What may be left of this job in Slurm. Nothing is of a first attempt that nobody has tried to submit."""
        if launch.gang.attempt == 1 and launch.gang.key not in self._unanswered:
            return None
        return {"names": job_names(launch), "owner": launch.gang.owner}

    # Stopping

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        """Tasks that run are told by their coordinator. A job of which none has begun is cancelled."""
        gangs = await self._gangs()
        named_gangs = [gang for gang in gangs if _is_named(gang, tasks)]
        jobs = (await self._queries.ask_all(_live(named_gangs), with_machines=False)).jobs
        answer = await self._order("batch_stop", tasks=[task.task_id for task in tasks], grace_s=grace_s)
        for unknown in answer["unknown"]:
            self._unanswered.discard(_key_of(unknown))
            self._tell(Observation(unknown, Phase.ENDED, stopped=True))
        named = {task.task_id for task in tasks}
        for gang in named_gangs:
            if gang.is_over:
                continue
            job = jobs.get(gang.job)
            is_whole = all(task.task_id in named or task.is_ordered or task.end for task in gang.tasks)
            if is_whole and (job is None or job.is_waiting):
                await self._order("batch_cancel", key=gang.key)
            elif is_whole:
                self._spawn(self._cancel_later(gang, grace_s + _CANCEL_AFTER_S))
        return []

    async def _cancel_later(self, gang: GangMarks, after_s: float) -> None:
        await asyncio.sleep(after_s)
        with suppress(BackendError):
            if any(one.key == gang.key and not one.is_over for one in await self._gangs()):
                await self._order("batch_cancel", key=gang.key)

    # Observing

    async def observe_all(self, node: str | None = None) -> Observed:
        try:
            gangs = await self._gangs()
            jobs = await self._jobs(gangs)
            seen = await self._observations(gangs, jobs)
        except BackendError as error:
            self._away(error)
            return Observed((), Scope())
        return Observed(tuple(seen), Scope(everything=True))

    async def _observations(self, gangs: Sequence[GangMarks], jobs: Jobs) -> list[Observation]:
        """Marks that were written after they were read are read again, before Slurm's word is taken for an end."""
        now = self._clock()
        doubtful = {gang.key for gang in gangs if _ends_by_slurm(gang, jobs)}
        if doubtful:
            again = {gang.key: gang for gang in await self._gangs()}
            gangs = [again.get(gang.key, gang) if gang.key in doubtful else gang for gang in gangs]
        found: list[Observation] = []
        for gang in gangs:
            job = jobs.get(gang.job)
            if gang.key in doubtful and jobs.is_fresh(gang.job, now) and any(task.begin for task in gang.tasks):
                found += observations(gang, JobFacts(gang.job))
                continue
            for seen, task in zip(observations(gang, job), gang.tasks, strict=True):
                found.append(seen)
                if seen.phase in (Phase.ENDED, Phase.LOST) and task.end is None:
                    self._spawn(self._keep_end(seen))
        return found

    async def _keep_end(self, seen: Observation) -> None:
        end = {"at": seen.ended_at or self._clock(), "kept": kept_end(seen), "node": seen.node or ""}
        await quietly(self._agent.ask("batch_end", task=seen.task_id, end=end))

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        return []

    async def _gangs(self) -> list[GangMarks]:
        """All gangs of the login node, of which it tells only what has changed since it was last asked."""
        async with self._mirroring:
            answer = await self._order("batch_gangs", **self._mirror.asked())
            self._mirror.take(answer)
            return list(self._mirror.gangs.values())

    async def _jobs(self, gangs: Sequence[GangMarks]) -> Jobs:
        """What is known of the jobs of these gangs that are not over. Slurm is asked if that is too old."""
        with_nodes = self._view.pool is None or self._pace.needs_nodes()
        known = None if with_nodes else self._pace.known_jobs(gangs, _live(gangs), self._options.poll_s)
        return await self._ask_about(gangs, with_nodes=with_nodes) if known is None else known

    async def _ask_about(self, gangs: Sequence[GangMarks], *, with_nodes: bool) -> Jobs:
        """All jobs of these gangs that are not over, by one query, and with it the nodes."""
        began, live = time.monotonic(), _live(gangs)
        answer = await self._queries.ask_all(live, with_machines=with_nodes)
        self._pace.answered(live, answer, began)
        if answer.machines is None and self._pace.needs_nodes():
            began = time.monotonic()
            answer = replace(answer, machines=(await self._queries.ask_all({}, with_machines=True)).machines)
            self._pace.answered((), answer, began)
        if answer.machines is not None:
            self._late = ""
            holding = (gang for gang in gangs if (job := answer.jobs.get(gang.job)) is not None and job.is_allocated)
            own, own_by_node = total(gang.amounts for gang in holding), own_use(gangs, answer.jobs)
            if self._view.update(answer.machines, own, own_by_node, self._options) and self._listener is not None:
                self._listener.nodes_changed(self.cluster)
        return answer.jobs

    async def _ask_slurm(self, commands: Sequence[Sequence[str]]) -> list[Message]:
        answer = await self._order("batch_ask", asked=[list(command) for command in commands])
        return list(answer["answers"])

    # Data of tasks

    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """Those of a task that shared no folder with the login node were sent there before its end was known."""
        found = await self._outputs.collect(task.task_id, LOGIN, patterns, target, admit)
        answer = await self._order("batch_outputs", task=task.task_id)
        return found if answer["told"] is None else with_unsent(found, answer["told"])

    def settled(self, task: TaskRef) -> None:
        self._spawn(self._settle(task.task_id))

    async def _settle(self, task_id: str) -> None:
        await quietly(self._agent.ask("batch_forget", task=task_id))

    async def forget(self, task: TaskRef) -> None:
        await self._order("batch_forget", task=task.task_id, final=True)

    def _in_task(self, task: TaskRef) -> InTask:
        return InTask(task.task_id, self._order)

    # The agent on the login node

    def _new_login_node(self) -> LoginNode:
        name = f"{self._identity}-{self.settings.name}"
        return LoginNode(self._options, name, self._epoch, self._home / "host-keys")

    def _connected(self) -> AbstractAsyncContextManager[Streams]:
        """The login node of the settings as they are at this moment."""
        return self._login_node.connected()

    def _place(self, token: str = "") -> Place:
        node = self._login_node
        relay = "" if self._options.is_shared else self._relay or "login,0"
        return Place(node.root, node.archive, self._identity, relay, token, self._log_bytes)

    def _gpu_types(self) -> GpuTypes:
        return GpuTypes(self._options, self._view.gpu_types)

    def _pushed(self, agent: AgentNode, message: Message) -> None:
        event = message.get("event")
        if event == "log":
            self._logs.grown(message["task"], int(message["size"]))
        elif event == "batch":
            status = message["status"]
            self._logs.status_changed(status)
            marks = read_task(status)
            if marks.end is not None and needs_slurm(marks):
                return  # the next answer of Slurm tells why
            if marks.begin is not None or marks.end is not None:
                job = str(status["job"])
                self._tell(observation(marks, job, JobFacts(job)))

    def _agent_changed(self, agent: AgentNode) -> None:
        if not agent.node.is_reachable:
            self._is_open = False
            self._problem = agent.node.note or self._problem
            if self._listener is not None:
                self._listener.nodes_changed(self.cluster)

    def _agent_ready(self, agent: AgentNode) -> None:
        self._shipping.forget(LOGIN)
        self._logs.watch_again(agent)
        self._look_for_slurm()

    def _away(self, error: BackendError) -> None:
        """Nothing more is handed over until Slurm answers again, which is looked for also while it has no jobs."""
        if self._view.pool is not None:
            _log.warning("Slurm does not answer", cluster=self.cluster, error=str(error))
            self._pace.failed()
        self._problem, self._view.pool = str(error), None
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)
        if self._agent.node.is_reachable:
            self._look_for_slurm()

    def _look_for_slurm(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = self._spawn(self._open())

    async def _open(self) -> None:
        tries = 0
        while self._agent.node.is_reachable:
            try:
                await self._opened()
                await self._jobs(await self._gangs())
            except BackendError as error:
                tries += 1
                self._problem = str(error)
                await asyncio.sleep(exponential(tries, first_s=0.5, limit_s=30.0))
            else:
                break
        if self._listener is not None and self._view.pool is not None:
            self._listener.nodes_changed(self.cluster)
            self._listener.reconnected(self.cluster, None)

    async def _opened(self) -> None:
        if self._is_open:
            return
        env = {"SLURM_CONF": self._options.conf} if self._options.conf else {}
        answer = await self._agent.ask(
            "batch_open",
            commands=self._options.commands,
            env=env,
            relay=not self._options.is_shared,
            relay_address=self._options.relay_host,
            relay_port=self._options.relay_port,
        )
        self._relay = str(answer.get("relay") or "")
        self._queries.opened(str(answer.get("version") or ""))
        self._is_open = True

    async def _order(self, op: str, **arguments: Any) -> Message:
        """Raises Rejected, Unreachable and BackendError, by what the agent says of the failure."""
        try:
            await self._opened()
            return await self._agent.ask(op, **arguments)
        except BackendError as error:
            if error.reason == UNREACHABLE:
                raise Unreachable(error.message) from None
            if error.reason == REJECTED:
                raise Rejected(error.message, reason="rejected-by-engine") from None
            raise

    async def _ask_node(self, node: str, op: str, /, **arguments: Any) -> Message:
        return await self._agent.ask(op, **arguments)

    def _tell(self, seen: Observation) -> None:
        if self._listener is not None:
            self._listener.task_observed(seen)

    def _spawn(self, errand: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task


def _is_named(gang: GangMarks, tasks: Sequence[TaskRef]) -> bool:
    return any(_key_of(task.task_id) == gang.key for task in tasks)


def _key_of(task_id: str) -> str:
    return task_id.rsplit(".", 2)[0]


def _live(gangs: Sequence[GangMarks]) -> dict[str, str]:
    return {gang.job: gang.name for gang in gangs if any(needs_slurm(task) for task in gang.tasks)}


def _ends_by_slurm(gang: GangMarks, jobs: Jobs) -> bool:
    job = jobs.get(gang.job)
    return any(needs_slurm(task) for task in gang.tasks) and (job is None or job.end is not None)
