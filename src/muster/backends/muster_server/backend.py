"""The backend for another Muster server: hands gangs on as jobs of that server, and reports what becomes of them."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import structlog

from muster.backends.muster_server.answers import ToldJobs, ToldStop, ToldSubmission
from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import OtherLogs
from muster.backends.muster_server.metrics import OtherMetrics
from muster.backends.muster_server.observing import OtherJob, observations
from muster.backends.muster_server.options import other_server_options
from muster.backends.muster_server.outputs import OtherOutputs
from muster.backends.muster_server.packages import PackageTransfer
from muster.backends.muster_server.server_view import ServerView, ask_capacity, ask_jobs, circle
from muster.backends.muster_server.submission import Way, cannot_honour, request_key, shown_submission, submission, via
from muster.backends.muster_server.task_commands import OtherCommands
from muster.backends.muster_server.task_connections import OtherConnections
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, Conflict, MusterError, NotFound, Problem, Rejected, Unreachable
from muster.domain.failures.exit_causes import REFUSED
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.nodes import Node
from muster.domain.pools import Pool
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.launch.symbols import assign_symbols
from muster.lib.backoff import exponential
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
from muster.ports.capabilities import Capabilities, PastEnd, TaskRef, TaskSecrets, Unready

_log = structlog.get_logger("backends.muster_server")
_WATCH_S = 25.0
_BETWEEN_ANSWERS_S = 0.02
"""What happens in quick succession there is heard of together."""
_REST = 10.0
"""After an answer, nothing more is asked for this many times the time that it kept the server busy."""
_LOOK_WAIT_S = 3.0
_HIDDEN = "***"


class OtherServerBackend:
    """Implements `ports.backend.Backend` and the capabilities engine, removals, shipping, cleanup and handing on."""

    cpu_unit_m = 1

    def __init__(
        self,
        settings: PhysicalCluster,
        archives: Archives,
        *,
        installation: str,
        log_bytes: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = settings.name
        self.settings = settings
        self._archives, self._own, self._log_bytes, self._clock = archives, installation, log_bytes, clock
        self._listener: BackendListener | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._under_way: set[str] = set()
        self._watching: asyncio.Task[None] | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = 0.0
        self._view = ServerView(self.cluster)
        self._handed: dict[str, str] = {}
        """The job of each gang that was handed on and need not be in the last list yet."""
        self._told: dict[str, Observation] = {}
        """What the last answer said of each task."""
        self._settled: set[str] = set()
        """Tasks of which nobody wants to know more."""
        self._use(OtherServer(other_server_options(settings)))

    def _use(self, server: OtherServer) -> None:
        self._options = other_server_options(self.settings)
        self._way = Way(self._own, self.cluster, self._options.cluster)
        self._server = server
        self._packages = PackageTransfer(server)
        self._logs = OtherLogs(server, self._job_of, self._log_bytes)
        self._metrics = OtherMetrics(server, self._job_of)
        self._outputs = OtherOutputs(server, self._job_of)
        self._commands = OtherCommands(server, self._job_of)
        self._connections = OtherConnections(server, self._job_of)

    # Lifetime

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        self._connect()

    async def close(self) -> None:
        errands = list(self._errands)
        for errand in errands:
            errand.cancel()
        await asyncio.gather(*errands, return_exceptions=True)
        await self._server.close()

    async def configure(self, settings: PhysicalCluster) -> None:
        """Jobs that are on another server than before are neither lost nor run again: see `removed`."""
        is_same = other_server_options(settings) == self._options
        self.settings = settings
        if is_same:
            return
        before = self._server
        self._use(OtherServer(other_server_options(settings)))
        self._view = ServerView(self.cluster)
        await before.close()
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)
            self._connect()

    def _connect(self) -> None:
        if self._connecting is None or self._connecting.done():
            self._connecting = self._spawn(self._reach())

    async def _reach(self) -> None:
        """Ask until the other server answers and its cluster is known."""
        tries = 0
        while self._view.pool is None:
            await self._refresh()
            if self._view.pool is None:
                tries += 1
                await asyncio.sleep(exponential(tries, first_s=0.2, limit_s=10.0))

    # What it can do

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine=self,
            removals=self,
            shipping=self,
            logs=self._logs,
            attempt_metrics=self._metrics,
            outputs=self._outputs,
            cleanup=self,
            secrets=TaskSecrets(),
            task_commands=self._commands,
            task_connections=self._connections,
            handing_on=self,
        )

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        problems = list(cannot_honour(spec, self.cluster))
        if self._view.is_circle:
            problems.append(Problem("cluster", f"cluster {self.cluster}: {self._view.problem}", "use another cluster"))
        return problems

    def reaches(self) -> frozenset[str]:
        return self._view.all_reached - {self._own}

    def nodes(self) -> list[Node]:
        return list(self._view.nodes)

    @property
    def poll_s(self) -> float:
        return self._options.poll_s

    def pool(self) -> Pool | None:
        """A cluster that leaves has none, so that nothing more is handed over."""
        return None if self.settings.is_leaving else self._view.pool

    def unknown_why(self) -> str:
        if self.settings.is_leaving:
            return "its cluster file was removed, so that it takes no more jobs"
        return self._view.problem

    async def look(self, max_age_s: float = 3.0) -> None:
        """While the other server is away, it is looked for anyway."""
        if self._view.pool is None or self._clock() - self._looked_at < max_age_s:
            return
        if self._looking is None or self._looking.done():
            self._looking = self._spawn(self._refresh())
        await asyncio.wait([self._looking], timeout=_LOOK_WAIT_S)

    async def _refresh(self) -> None:
        """Learn anew who the other server is and what its cluster has."""
        before = self._view.pool, list(self._view.nodes), self._view.problem
        was_away = self._view.pool is None
        try:
            self._take(await ask_jobs(self._server, self._way))
            self._view.is_circle = False
            if said := circle(self._view, self._own, self._options.shown_servers):
                self._view.lose(said)
                self._view.is_circle = True
            else:
                await ask_capacity(self._server, self._view, self._options)
            self._looked_at = self._clock()
        except MusterError as error:
            self._away(error)
            return
        if self._listener is None:
            return
        if before != (self._view.pool, self._view.nodes, self._view.problem):
            self._listener.nodes_changed(self.cluster)
        if was_away and self._view.pool is not None:
            _log.info("the other server answers", cluster=self.cluster, installation=self._view.installation)
            self._listener.reconnected(self.cluster, None)

    def _away(self, error: MusterError) -> None:
        if self._view.problem != error.message:
            _log.warning("the other server is away", cluster=self.cluster, error=error.message)
            self._view.lose(error.message)
            if self._listener is not None:
                self._listener.nodes_changed(self.cluster)
        if self._listener is not None:
            self._connect()

    # Launching

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        """The other server finds addresses of its own, and composes the environment of tasks with them."""
        return assign_symbols(gang, ports)

    def render(self, launch: GangLaunch) -> Rendered:
        shown = _without_values(shown_submission(launch.gang, self._way))
        text = json.dumps(shown, indent=2, ensure_ascii=False) + "\n"
        return Rendered((RenderedFile(f"{launch.gang.key}.json", text),))

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        try:
            for digest in launch.gang.spec.digests:
                await self._packages.ensure(digest, self._archives.path(digest))
        except BackendError as error:
            return [Unready("", error.reason or "package", error.message)]
        except MusterError as error:
            return [Unready("", "package", error.message)]
        return []

    def progress(self, digests: Collection[str]) -> str:
        return "; ".join(self._packages.progress(digests))

    async def launch(self, launch: GangLaunch) -> Launched:
        if not launch.requests:
            return Launched()
        gang = launch.gang
        if not self._view.installation:
            await self._refresh()
        to = self._view.installation
        if not to:
            raise Unreachable(self._view.problem)
        way = via(gang.spec, self._way)
        if self._view.is_circle or to in way:
            raise Rejected(
                f"The job would go in circles: {self._options.shown_servers} has handed it on itself.", reason=REFUSED
            )
        for digest in gang.spec.digests:
            await self._packages.ensure(digest, self._archives.path(digest))
        handle = f"{to}:{await self._submit(launch, to)}"
        self._watch()
        return Launched({task.id: handle for task in gang.tasks})

    async def _submit(self, launch: GangLaunch, to: str) -> str:
        try:
            answer = await self._server.request(
                "POST",
                "/jobs:handed-on",
                body=submission(launch, self._way, to),
                headers={"Idempotency-Key": request_key(self._way, launch.gang)},
            )
        except Conflict as error:
            raise BackendError(error.message, reason=REFUSED) from error
        except NotFound as error:
            raise Unreachable(f"{error.message}; it is no Muster server that jobs can be handed on to") from error
        except Unreachable as error:
            self._away(error)
            raise
        job = answer.read(ToldSubmission).id
        self._handed[launch.gang.key] = job
        return job

    # Stopping

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        found: dict[str, list[TaskRef]] = {}
        for task in tasks:
            try:
                found.setdefault(await self._job_of(task), []).append(task)
            except NotFound:
                self._tell(Observation(task.task_id, Phase.ENDED, task.handle, stopped=True))
        left: list[str] = []
        for job, own in found.items():
            left += await self._stop(job, own, grace_s)
        if found:
            self._watch()
        return left

    async def _stop(self, job: str, tasks: Sequence[TaskRef], grace_s: float) -> list[str]:
        names = {worker_name(task): task for task in tasks}
        body = {"tasks": list(names), "grace": grace_s}
        try:
            answer = (await self._server.request("POST", f"/jobs/{job}/stop-tasks", body=body)).read(ToldStop)
        except NotFound:
            for task in tasks:
                self._tell(Observation(task.task_id, Phase.ENDED, task.handle, stopped=True))
            return []
        except Unreachable as error:
            self._away(error)
            raise
        return [task.task_id for name, task in names.items() if name in answer.waiting]

    # Observing

    async def observe_all(self, node: str | None = None) -> Observed:
        try:
            self._take(await ask_jobs(self._server, self._way))
        except MusterError as error:
            self._away(error)
            return Observed((), Scope())
        if self._view.pool is None:
            self._connect()
        self._watch()
        return Observed(tuple(self._observations()), Scope(everything=True))

    def _take(self, told: ToldJobs) -> None:
        self._view.take_jobs(told)
        listed = self._view.jobs
        self._handed = {key: job for key, job in self._handed.items() if key not in listed}
        for job in listed.values():
            if job.is_back_in_queue:
                self._spawn_once(f"end {job.id}", partial(self._end, job))
            elif job.is_over and self._settled.issuperset(job.task_ids()):
                self._spawn_once(f"let go {job.id}", partial(self._let_go, job.id))

    def _observations(self) -> list[Observation]:
        return [
            seen
            for job in self._view.jobs.values()
            for seen in observations(job, f"{self._view.installation}:{job.id}", self._server.address)
            if seen.task_id not in self._settled or seen.phase not in (Phase.ENDED, Phase.LOST)
        ]

    def _watch(self) -> None:
        if self._listener is not None and (self._watching is None or self._watching.done()):
            self._watching = self._spawn(self._follow())

    async def _follow(self) -> None:
        """Report changes as they come, by one question for all jobs, for as long as any of them is live."""
        tries = 0
        while self._handed or any(not job.is_over for job in self._view.jobs.values()):
            try:
                asked = set(self._handed)
                known = "" if asked else self._view.tag
                told = await ask_jobs(self._server, self._way, known=known, wait_s=_WATCH_S)
                began = self._clock()
                self._take(told)
                self._handed = {key: job for key, job in self._handed.items() if key not in asked}
            except MusterError as error:
                self._away(error)
                tries += 1
                await asyncio.sleep(exponential(tries, first_s=0.2, limit_s=10.0))
                continue
            tries = 0
            before, self._told = self._told, {seen.task_id: seen for seen in self._observations()}
            for seen in self._told.values():
                if before.get(seen.task_id) != seen:
                    self._tell(seen)
            await asyncio.sleep(max(_BETWEEN_ANSWERS_S, _REST * (self._clock() - began)))

    async def removed(self, tasks: Sequence[TaskRef]) -> str:
        """Jobs that the list does not have were deleted there, unless the list is that of somebody else."""
        for task in tasks:
            installation, _, job = (task.handle or "").partition(":")
            if not job:
                continue
            if installation != self._view.installation:
                raise Unreachable(
                    f"{task.task_id} was handed on to server {installation}, and {self._options.shown_servers} is "
                    f"server {self._view.installation}: put the former address back, or kill the job"
                )
            try:
                await self._server.request("GET", f"/jobs/{job}")
            except NotFound:
                continue
            raise Unreachable(
                f"job {job} is still on {self._options.shown_servers}, and {self._view.user} did not submit it: "
                "put back a token of the user who did"
            )
        return f"Its job was removed from {self._options.shown_servers}."

    # Cleaning up

    def settled(self, task: TaskRef) -> None:
        self._settled.add(task.task_id)
        job = self._view.jobs.get(_key_of(task.task_id))
        if job is not None and self._settled.issuperset(job.task_ids()):
            self._spawn_once(f"let go {job.id}", partial(self._let_go, job.id))

    async def _let_go(self, job: str) -> None:
        """Lets a job go. If the other server does not hear it, it is told with the next list that still has the job."""
        with suppress(MusterError):
            await self._server.request("DELETE", f"/jobs:handed-on/{job}")
            self._drop(job)

    async def _end(self, job: OtherJob) -> None:
        with suppress(MusterError):
            await self._server.request("POST", f"/jobs/{job.id}/kill", body={"grace": 0})

    async def forget(self, task: TaskRef) -> None:
        """Removes the job there when nobody wants to know of any of its tasks."""
        try:
            job = await self._job_of(task)
        except NotFound:
            return
        self._settled.add(task.task_id)
        known = self._view.jobs.get(_key_of(task.task_id))
        if known is not None and not self._settled.issuperset(known.task_ids()):
            return
        with suppress(NotFound, Conflict):
            await self._server.request("DELETE", f"/jobs/{job}")
            self._drop(job)

    def _drop(self, job: str) -> None:
        gone = {key: one for key, one in self._view.jobs.items() if one.id == job}
        for key, one in gone.items():
            del self._view.jobs[key]
            self._settled.difference_update(one.task_ids())

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        return ()

    # Helpers

    async def _job_of(self, task: TaskRef) -> str:
        """The id of the task's job on the other server. Raises NotFound if it has none, and Unreachable."""
        installation, _, job = (task.handle or "").partition(":")
        if job:
            if self._view.installation and installation != self._view.installation:
                raise Unreachable(f"it was handed on to server {installation}, which is not at these addresses")
            return job
        key = _key_of(task.task_id)
        if key not in self._handed and key not in self._view.jobs:
            self._take(await ask_jobs(self._server, self._way))
        if key in self._view.jobs:
            return self._view.jobs[key].id
        if key in self._handed:
            return self._handed[key]
        raise NotFound(f"the other server has no job for {task.task_id}")

    def _tell(self, observation: Observation) -> None:
        if self._listener is not None:
            self._listener.task_observed(self.cluster, observation)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        errand = asyncio.create_task(work)
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)
        return errand

    def _spawn_once(self, name: str, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Nothing that is still under way by this name is begun again: the next answer may ask for it once more."""
        if name not in self._under_way:
            self._under_way.add(name)
            self._spawn(begin()).add_done_callback(lambda _: self._under_way.discard(name))


def worker_name(task: TaskRef) -> str:
    return "-".join(task.task_id.rsplit(".", 2)[1:])


def _key_of(task_id: str) -> str:
    return task_id.rsplit(".", 2)[0]


def _without_values(shown: dict[str, Any]) -> dict[str, Any]:
    """Values of variables may be secret, as those of a `--dry-run` are not shown either."""
    spec = dict(shown["spec"])
    hidden = {"env": dict.fromkeys(spec.get("env", {}), _HIDDEN)} if spec.get("env") else {}
    roles = {
        name: {**role, "env": dict.fromkeys(role["env"], _HIDDEN)} if role.get("env") else role
        for name, role in spec["roles"].items()
    }
    return {**shown, "spec": {**spec, **hidden, "roles": roles}}
