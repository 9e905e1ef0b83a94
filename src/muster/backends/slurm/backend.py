"""The Slurm backend: hands gangs over to Slurm by the agent on its login node, and reports what becomes of them."""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from muster.agent.batch.programs import FULL
from muster.agent.system.frames import Message
from muster.backends.agents.archive_transfer import ArchiveTransfer
from muster.backends.agents.connection import CONNECT_WITHIN_S, AgentNode, quietly
from muster.backends.agents.logs import AgentLogs
from muster.backends.agents.output_collection import OutputCollection
from muster.backends.agents.task_commands import AgentCommands
from muster.backends.agents.task_connections import AgentConnections
from muster.backends.agents.task_data import PoolLogs
from muster.backends.slurm.answers.amounts import total
from muster.backends.slurm.answers.job_facts import JobFacts
from muster.backends.slurm.answers.queries import Jobs, SlurmQueries
from muster.backends.slurm.cluster_view import ClusterView
from muster.backends.slurm.gang_marks import GangMarks, TaskMarks, handle_of, read_task
from muster.backends.slurm.login.logins import Logins
from muster.backends.slurm.login.place_changes import PlaceChange, at_the_place_of, changed_keys
from muster.backends.slurm.login.slurm_login import LoginMaker, SlurmLogin
from muster.backends.slurm.node_use import own_use
from muster.backends.slurm.observing import kept_end, needs_slurm, observation, observations
from muster.backends.slurm.options import Order, SlurmOptions, SubmitAs, slurm_options
from muster.backends.slurm.pace import Pace
from muster.backends.slurm.script.batch_script import batch_script, job_name, job_names, shown_script
from muster.backends.slurm.script.launch_secrets import launch_secrets
from muster.backends.slurm.script.refusals import explained
from muster.backends.slurm.script.sbatch_options import GpuTypes, gang_amounts
from muster.backends.slurm.script.time_limits import time_limit_problems
from muster.backends.slurm.spec_support import cannot_honour
from muster.backends.slurm.stray_jobs import STRAY_TIMES, StrayJobs, StrayTimes
from muster.backends.slurm.task_steps import InTask
from muster.backends.slurm.unsent_outputs import with_unsent
from muster.backends.slurm.untaken import Untaken
from muster.backends.slurm.usage import EVERY_S, SlurmUsage
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, Problem, Rejected, Unreachable
from muster.domain.failures.exit_causes import REFUSED
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
_LOOK_AFTER_S = 3.0
"""Nodes that were asked for so long ago are asked for anew when somebody looks."""
_LOOK_WAIT_S = 3.0
_TIDY_EVERY_S = 60.0
_CERTAIN_S = 5.0
"""So long others are taken not to have come: nodes are asked for as often while jobs wait."""
_CANCEL_AFTER_S = 15.0
"""A job whose tasks should have ended this long ago is cancelled in Slurm."""


class SlurmBackend:
    """Implements `ports.backend.Backend` and the capabilities engine, shipping, outputs, cleanup and accounts."""

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
        usage_every_s: float = EVERY_S,
        stray_times: StrayTimes = STRAY_TIMES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.cluster = settings.name
        self.settings = settings
        self._archives = archives
        self._identity = identity
        self._log_bytes = log_bytes
        self._output_bytes = output_bytes
        self._clock = clock
        self._options = slurm_options(settings)
        self._listener: BackendListener | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._problem = "the login node has not answered yet"
        self._looking: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._late = ""
        self._has_handed_over = False
        """Whether somebody may have handed over a gang since the nodes were asked for."""
        self._pace = Pace()
        self._queries = SlurmQueries(self._ask_slurm)
        self._view = ClusterView(self.cluster)
        self._unanswered: set[str] = set()
        """The gangs of which nobody knows whether Slurm has them."""
        self._untaken = Untaken()
        self._silent: Mapping[str, str] = {}
        """The users whose logins did not answer last, and why."""
        self._place_change: PlaceChange | None = None
        self._moving: asyncio.Task[None] | None = None
        maker = LoginMaker(
            self.cluster,
            identity,
            epoch=epoch,
            home=home,
            log_bytes=log_bytes,
            connect_within_s=connect_within_s,
            listener=self,
        )
        self._logins = Logins(lambda: self._options, maker, home / f"{self.cluster}-logins.json")
        self._strays = StrayJobs(self.cluster, self._logins, stray_times)
        self._settling: asyncio.Task[None] | None = None
        self._logs = AgentLogs(log_bytes)
        self._shipping = ArchiveTransfer(self._ask_login, lambda name: self._logins.named(name).agent.outward)
        self._outputs = OutputCollection(self._ask_login, lambda name: self._logins.named(name).agent.inward)
        self._usage = SlurmUsage()
        self._usage_every_s = usage_every_s
        self._task_logs = PoolLogs(self._agent_of, self._logs)
        self._task_commands = AgentCommands(self._in_task)
        self._task_connections = AgentConnections(self._in_task)

    # Lifetime

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        self._logins.start()
        self._spawn(self._tidy())
        self._spawn(self._strays.watch(self._pace.unasked_s))
        self._spawn(self._measure())

    async def close(self) -> None:
        errands = list(self._errands)
        for errand in errands:
            errand.cancel()
        await asyncio.gather(*errands, return_exceptions=True)
        await self._task_commands.close()
        await self._task_connections.close()
        await self._shipping.close()
        await self._logs.close()
        await self._logins.close()

    async def configure(self, settings: PhysicalCluster) -> None:
        """While gangs are left where the cluster is, it stays there."""
        self.settings = settings
        wanted = slurm_options(settings)
        keys = changed_keys(self._options, wanted)
        left = sum(login.gang_count for login in self._logins)
        if not keys or not left:
            self._place_change = None
            await self._use(wanted)
            return
        self._place_change = PlaceChange(keys, wanted, settings.lost_after_s, left)
        await self._use(at_the_place_of(self._options, wanted))
        if self._moving is None or self._moving.done():
            self._moving = self._spawn(self._move())

    async def _use(self, options: SlurmOptions) -> None:
        self._options = options
        await self._logins.reconfigure()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_EVERY_S)
            await self._logins.close_unused()

    async def _move(self) -> None:
        """Wait until nothing is left at the old place. The change may be taken back meanwhile."""
        while (change := self._place_change) is not None:
            with suppress(BackendError):
                await self._gangs()
            gangs = [gang for login in self._logins for gang in login.mirror.gangs.values()]
            launching, is_answering = sum(len(login.launching) for login in self._logins), self._view.pool is not None
            is_due = change.is_due(gangs, launching, is_answering=is_answering)
            if is_due and change is self._place_change:
                _log.info("cluster has moved", cluster=self.cluster, keys=change.keys)
                self._place_change, self._view.pool = None, None
                self._problem = "the login node has not answered yet"
                await self._use(change.wanted)
            if self._listener is not None:
                self._listener.nodes_changed(self.cluster)
            await asyncio.sleep(self._options.poll_s)

    # What it can do

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine=self,
            shipping=self,
            logs=self._task_logs,
            log_times=self._task_logs,
            outputs=self,
            cleanup=self,
            secrets=TaskSecrets(),
            usage=self._usage,
            task_commands=self._task_commands,
            task_connections=self._task_connections,
            accounts=self if self._options.submit_as is SubmitAs.LOGIN else None,
        )

    def refusal(self, owner: str) -> Problem | None:
        if self._options.for_owner(owner) is not None:
            return None
        message = f"{owner} has no login on cluster {self.cluster}"
        return Problem("cluster", message, "ask an admin to add one to `logins` in the cluster's file")

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        too_long = time_limit_problems(spec, self._options, self.cluster, self._view.partitions)
        return [*cannot_honour(spec, self.settings), *too_long]

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
        note = self._late or "; ".join(self._silent.values())
        return pool if pool is None or not note else replace(pool, note=note)

    def unknown_why(self) -> str:
        if self.settings.is_leaving:
            return "its cluster file was removed, so that it takes no more jobs"
        return "" if self._view.pool is not None else self._problem

    def untaken_why(self, key: str) -> str:
        return self._untaken.why(key)

    async def look(self, max_age_s: float = _LOOK_AFTER_S) -> None:
        """Asks Slurm again if what is known is older than this. While Slurm is away, it is looked for anyway."""
        if self._view.pool is None or not self._pace.is_old(max_age_s):
            return
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._spawn(self._refresh())
        done, _ = await asyncio.wait([self._refreshing], timeout=_LOOK_WAIT_S)
        if not done:
            age = format_duration(round(self._pace.nodes_age_s()))
            self._late = f"Slurm has not answered yet: nodes are shown as they were {age} ago"

    def may_hand_over(self, waiting: int) -> bool:
        """A single job may wait in Slurm, whatever others have taken there since it was last asked."""
        is_old = self._view.pool is not None and self._pace.is_old(_CERTAIN_S)
        if is_old and self._options.order is Order.MUSTER and (waiting > 1 or self._has_handed_over):
            return False
        self._has_handed_over = True
        return True

    async def _refresh(self) -> None:
        try:
            await self._ask_about(await self._gangs(), with_nodes=True)
        except BackendError as error:
            self._away(error)

    # Launching

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        return assign_symbols(gang, ports)

    def render(self, launch: GangLaunch) -> Rendered:
        login = self._logins.shown_for(launch.gang.owner)
        script = shown_script(launch, login.options, login.place(), self._gpu_types())
        return Rendered((RenderedFile(f"{launch.gang.key}.sbatch", script),))

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        """Send packages and inputs to the login node."""
        try:
            login = self._logins.for_submission(launch.gang.owner)
            login.start()
            for digest in dict.fromkeys(digest for request in launch.requests for digest in request.digests):
                await self._shipping.ensure(login.name, digest, self._archives.path(digest))
        except BackendError as error:
            return [Unready("", error.reason, error.message)]
        return []

    def progress(self, digests: Any) -> str:
        return self._shipping.progress(digests)

    async def launch(self, launch: GangLaunch) -> Launched:
        if not launch.requests:
            return Launched()
        key = launch.gang.key
        login = self._logins.for_submission(launch.gang.owner)
        login.launching.add(key)
        try:
            launched = await self._submit_if_not_full(launch, login)
        except Unreachable as error:
            self._untaken.note(key, error.message)
            raise
        finally:
            login.launching.discard(key)
        self._unanswered.discard(key)
        self._untaken.settled(key)
        return launched

    async def _submit_if_not_full(self, launch: GangLaunch, login: SlurmLogin) -> Launched:
        """Raises Unreachable if Slurm has as many jobs as it may have: it takes this one later."""
        place = launch.gang.cluster, launch.gang.owner if self._options.submit_as is not SubmitAs.SERVICE else ""
        if why := self._untaken.full_why(place):
            raise Unreachable(why)
        try:
            launched = await self._submit(launch, login)
        except Unreachable:
            self._unanswered.add(launch.gang.key)
            raise
        except BackendError as error:
            if error.reason != FULL:
                raise
            self._unanswered.discard(launch.gang.key)
            self._untaken.is_full(place, error.message)
            raise Unreachable(error.message) from None
        self._untaken.has_room(place)
        return launched

    async def _submit(self, launch: GangLaunch, login: SlurmLogin) -> Launched:
        unready = await self.prepare(launch)
        if unready:
            raise BackendError(unready[0].message, reason=unready[0].code)
        if not login.is_open:
            await login.gangs()  # the login node says where the nodes find it
        self._logins.submits(login)
        token = secrets.token_hex(16)
        script = batch_script(launch, login.options, login.place(token), self._gpu_types())
        answer = await self._submitted(
            login,
            launch.gang,
            key=launch.gang.key,
            name=job_name(launch),
            tasks=[task.id for task in launch.gang.tasks],
            digests=sorted({digest for request in launch.requests for digest in request.digests}),
            options=[],
            token=token,
            amounts=gang_amounts(launch.gang, self._gpu_types()),
            user=launch.gang.owner if self._options.submit_as is SubmitAs.USER else "",
            secrets=launch_secrets(launch),
            log_bytes=self._log_bytes,
            relay="" if self._options.is_shared else login.relay,
            shared=login.options.root if self._options.is_shared else "",
            output_bytes=None if self._options.is_shared else self._output_bytes,
            earlier=self._earlier(launch),
            data=script.encode(),
        )
        handle = handle_of(str(answer["job"]), login.owner)
        return Launched({task.id: handle for task in launch.gang.tasks})

    async def _submitted(self, login: SlurmLogin, gang: Gang, **arguments: Any) -> Message:
        try:
            return await login.order("batch_submit", **arguments)
        except Unreachable:
            raise
        except BackendError as error:
            if error.reason == FULL:
                raise
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
        found: dict[str, tuple[SlurmLogin, list[TaskRef]]] = {}
        for task in tasks:
            login = await self._login_of(task)
            found.setdefault(login.owner, (login, []))[1].append(task)
        undelivered: list[str] = []
        for login, own in found.values():
            try:
                await self._stop_at(login, own, grace_s)
            except Unreachable:
                if len(found) == 1:
                    raise
                undelivered += [task.task_id for task in own]
        return undelivered

    async def _stop_at(self, login: SlurmLogin, tasks: Sequence[TaskRef], grace_s: float) -> None:
        """Tasks that run are told first: they stop also while Slurm does not answer."""
        named_gangs = [gang for gang in await login.gangs() if _is_named(gang, tasks)]
        answer = await login.order("batch_stop", tasks=[task.task_id for task in tasks], grace_s=grace_s)
        for unknown in answer["unknown"]:
            self._unanswered.discard(_key_of(unknown))
            self._untaken.settled(_key_of(unknown))
            self._tell(Observation(unknown, Phase.ENDED, stopped=True))
        jobs = (await self._queries.ask_all(_live(named_gangs), with_machines=False)).jobs
        named = {task.task_id for task in tasks}
        for gang in named_gangs:
            if gang.is_over:
                continue
            job = jobs.get(gang.job)
            is_whole = all(task.task_id in named or task.is_ordered or task.end for task in gang.tasks)
            if is_whole and (job is None or job.is_waiting):
                await login.order("batch_cancel", key=gang.key)
            elif is_whole:
                self._spawn(self._cancel_later(login, gang, grace_s + _CANCEL_AFTER_S))

    async def _cancel_later(self, login: SlurmLogin, gang: GangMarks, after_s: float) -> None:
        await asyncio.sleep(after_s)
        with suppress(BackendError):
            if any(one.key == gang.key and not one.is_over for one in await login.gangs()):
                await login.order("batch_cancel", key=gang.key)

    # Observing

    async def observe_all(self, node: str | None = None) -> Observed:
        try:
            gangs = await self._gangs()
            jobs = await self._jobs(gangs)
            seen = await self._observations(gangs, jobs)
        except BackendError as error:
            self._away(error)
            return Observed((), Scope())
        return Observed(tuple(seen), Scope(everything=not self._missing))

    async def _observations(self, gangs: Sequence[GangMarks], jobs: Jobs) -> list[Observation]:
        """Marks that were written after they were read are read again, before Slurm's word is taken for an end."""
        now = self._clock()
        doubtful = {gang.key for gang in gangs if _ends_by_slurm(gang, jobs)}
        if doubtful:
            reread = [gang for gang in gangs if gang.key in doubtful]
            again = {gang.key: gang for gang in await self._gangs(reread)}
            gangs = [again.get(gang.key, gang) if gang.key in doubtful else gang for gang in gangs]
        found: list[Observation] = []
        for gang in gangs:
            job = jobs.get(gang.job)
            if gang.key in doubtful and jobs.is_fresh(gang.job, now) and any(map(_may_tell_its_end, gang.tasks)):
                found += observations(gang, JobFacts(gang.job))
                continue
            if job is not None and job.is_left and not await self._is_cancelled(gang):
                continue  # it is over once Slurm cannot start it again
            for seen, task in zip(observations(gang, job), gang.tasks, strict=True):
                found.append(seen)
                if seen.phase in (Phase.ENDED, Phase.LOST) and task.end is None:
                    self._spawn(self._keep_end(self._logins.of_gang(gang.login), seen))
        return found

    async def _is_cancelled(self, gang: GangMarks) -> bool:
        try:
            await self._logins.of_gang(gang.login).order("batch_cancel", key=gang.key)
        except BackendError as error:
            _log.warning("requeued job cannot be cancelled", cluster=self.cluster, job=gang.job, error=str(error))
            return False
        return True

    async def _keep_end(self, login: SlurmLogin, seen: Observation) -> None:
        end = {"at": seen.ended_at or self._clock(), "kept": kept_end(seen), "node": seen.node or ""}
        await quietly(login.order("batch_end", task=seen.task_id, end=end))

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        return []

    async def _gangs(self, reread: Sequence[GangMarks] = ()) -> list[GangMarks]:
        """All gangs of the logins that answer. Raises BackendError if that of the cluster does not. That of a user
        which is away is not waited for: jobs of others do not wait, either. The files of `reread` are read again."""
        keys: dict[str, list[str]] = {}
        for gang in reread:
            keys.setdefault(gang.login, []).append(gang.key)
        silent = {login.owner: login.why_away for login in self._logins if login.owner and login.why_away}
        logins = [login for login in self._logins if login.owner not in silent]
        answers = await asyncio.gather(
            *(login.gangs(keys.get(login.owner, ())) for login in logins), return_exceptions=True
        )
        found: list[GangMarks] = []
        for login, answer in zip(logins, answers, strict=True):
            if isinstance(answer, BackendError) and login.owner:
                silent[login.owner] = answer.message
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found += answer
        self._silent = silent
        return found

    async def _login_of(self, task: TaskRef) -> SlurmLogin:
        """Raises Unreachable if the login that may have the task does not answer."""
        found = self._logins.of_task(task)
        if found is None:
            await self._gangs()
            found = self._logins.of_task(task)
        if found is None and self._missing:
            raise Unreachable(self._missing[0])
        return found or self._logins.service

    @property
    def _missing(self) -> list[str]:
        """Why logins did not answer last by which something may have been submitted."""
        return [why for owner, why in self._silent.items() if self._logins.has_submitted(owner)]

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
            self._late, self._has_handed_over = "", False
            holding = (gang for gang in gangs if (job := answer.jobs.get(gang.job)) is not None and job.is_allocated)
            own, own_by_node = total(gang.amounts for gang in holding), own_use(gangs, answer.jobs)
            if self._view.update(answer.machines, own, own_by_node, self._options) and self._listener is not None:
                self._listener.nodes_changed(self.cluster)
        return answer.jobs

    async def _ask_slurm(self, commands: Sequence[Sequence[str]]) -> list[Message]:
        answer = await self._logins.service.order("batch_ask", asked=[list(command) for command in commands])
        return list(answer["answers"])

    async def _measure(self) -> None:
        """Read what the tasks that run have told of their usage. Slurm is not asked."""
        while True:
            await asyncio.sleep(self._usage_every_s)
            told: dict[str, Any] = {}
            nodes: dict[str, str] = {}
            for login in self._logins:
                running = login.mirror.running() if login.agent.node.is_reachable else {}
                nodes |= running
                with suppress(BackendError):
                    told |= (await login.order("batch_usage", tasks=[*running]))["usage"] if running else {}
            self._usage.take(told, nodes, self._clock())

    # Data of tasks

    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """Those of a task that shared no folder with the login node were sent there before its end was known."""
        login = await self._login_of(task)
        await login.opened()
        found = await self._outputs.collect(task.task_id, login.name, patterns, target, admit)
        answer = await login.order("batch_outputs", task=task.task_id)
        return found if answer["told"] is None else with_unsent(found, answer["told"])

    def settled(self, task: TaskRef) -> None:
        self._spawn(quietly(self._forget(task)))

    async def forget(self, task: TaskRef) -> None:
        await self._forget(task, final=True)

    async def _forget(self, task: TaskRef, **how: Any) -> Message:
        login = await self._login_of(task)
        return await login.order("batch_forget", task=task.task_id, **how)

    def _in_task(self, task: TaskRef) -> InTask:
        async def order(op: str, **arguments: Any) -> Message:
            return await (await self._login_of(task)).order(op, **arguments)

        return InTask(task.task_id, order)

    def _agent_of(self, task: TaskRef) -> AgentNode:
        login = self._logins.of_task(task) or self._logins.service
        login.start()
        return login.agent

    # The agents on the login node

    def _gpu_types(self) -> GpuTypes:
        return GpuTypes(self._options, self._view.gpu_types)

    def login_pushed(self, login: SlurmLogin, message: Message) -> None:
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
                self._tell(observation(marks, handle_of(job, login.owner), JobFacts(job)))

    def login_changed(self, login: SlurmLogin) -> None:
        agent = login.agent
        if login is self._logins.service and not agent.node.is_reachable:
            self._problem = agent.node.note or self._problem
            if self._listener is not None:
                self._listener.nodes_changed(self.cluster)

    def login_ready(self, login: SlurmLogin) -> None:
        self._shipping.forget(login.name)
        self._logs.watch_again(login.agent)
        if login is self._logins.service:
            self._look_for_slurm()
        else:
            self._spawn(self._adopt(login))

    def login_opened(self, login: SlurmLogin, version: str) -> None:
        if login is self._logins.service:
            self._queries.opened(version)

    async def _adopt(self, login: SlurmLogin) -> None:
        """What has happened while the login did not answer is told."""
        with suppress(BackendError):
            await login.opened()
            if self._listener is not None:
                self._listener.reconnected(self.cluster, None)

    def _away(self, error: BackendError) -> None:
        """Nothing more is handed over until Slurm answers again, which is looked for also while it has no jobs."""
        if self._view.pool is not None:
            _log.warning("Slurm does not answer", cluster=self.cluster, error=str(error))
            self._pace.failed()
        self._problem, self._view.pool = str(error), None
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)
        if self._logins.service.agent.node.is_reachable:
            self._look_for_slurm()

    def _look_for_slurm(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = self._spawn(self._open())

    async def _open(self) -> None:
        tries = 0
        while self._logins.service.agent.node.is_reachable:
            try:
                await self._logins.service.opened()
                await self._jobs(await self._gangs())
            except BackendError as error:
                tries += 1
                self._problem = str(error)
                await asyncio.sleep(exponential(tries, first_s=0.5, limit_s=30.0))
            else:
                break
        if self._view.pool is None:
            return
        if self._settling is None or self._settling.done():
            self._settling = self._spawn(self._strays.settle())
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)
            self._listener.reconnected(self.cluster, None)

    async def _ask_login(self, name: str, op: str, /, **arguments: Any) -> Message:
        return await self._logins.named(name).agent.ask(op, **arguments)

    def _tell(self, seen: Observation) -> None:
        if self._listener is not None:
            self._listener.task_observed(self.cluster, seen)

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


def _may_tell_its_end(task: TaskMarks) -> bool:
    return task.begin is not None and task.end is None


def _ends_by_slurm(gang: GangMarks, jobs: Jobs) -> bool:
    job = jobs.get(gang.job)
    return any(needs_slurm(task) for task in gang.tasks) and (job is None or job.end is not None)
