"""The real engine on a real SQLite store, over a fake backend and a clock that the test moves."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from muster.agent.system.inotify import Inotify
from muster.domain.events import Event
from muster.domain.jobs import Job, Stopping
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.nodes.fleet import Builder
from muster.engine.requests import commands
from muster.engine.running import running_engine
from muster.engine.state.cluster_settings import ActiveConfig
from muster.settings.cluster_config import FileClusterConfig
from muster.settings.kept_files import KeptFiles
from muster.stores.opening import open_store
from tests.parts.cluster_folders import cluster_folder
from tests.parts.fake_backend import FakeBackend

DEADLINE_S = 60.0


@dataclass(slots=True)
class Laboratory:
    folder: Path
    template: Path
    backend: FakeBackend = field(default_factory=FakeBackend)
    keep_finished_s: float | None = None
    builders: dict[str, Builder] = field(default_factory=dict)
    """The factories of backends for clusters from files, by the name of the backend."""
    jumped_s: float = 0.0
    """By how much the wall clock was set meanwhile."""
    context: Context = field(init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def now(self) -> float:
        return self.backend.clock

    @property
    def steady(self) -> float:
        """A clock that goes on as time passes, whoever sets the wall clock."""
        return self.backend.clock - self.jumped_s

    @property
    def clusters(self) -> Path:
        """The folder of the files that define virtual clusters."""
        return self.folder / "clusters.d"

    async def open(self) -> "Laboratory":
        self.clusters.mkdir(exist_ok=True)
        file = self.folder / "muster.db"
        if not file.exists():
            shutil.copy(self.template, file)
        store = await open_store(f"sqlite:///{file}")
        self._stack.push_async_callback(store.close)
        self.context = Context(
            store,
            {"lab": self.backend},
            "lab",
            self.folder / "logs",
            self.folder / "packages",
            clock=lambda: self.backend.clock,
            keep_finished_s=self.keep_finished_s,
            config=ActiveConfig(
                FileClusterConfig(
                    cluster_folder(self.clusters, "lab"),
                    KeptFiles(self.folder / "clusters.kept.json", self.clusters),
                    Inotify,
                )
            ),
        )
        await self._stack.enter_async_context(running_engine(self.context, self.builders))
        return self

    async def close(self) -> None:
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    def pass_time(self, seconds: float) -> None:
        """The engine's timers run on the loop's clock; a waiting job is looked at again when woken."""
        self.backend.clock += seconds
        self.context.wake.set()

    def set_clock(self, by_s: float) -> None:
        """Sets the wall clock. No time passes."""
        self.backend.clock += by_s
        self.jumped_s += by_s

    async def submit(self, spec: JobSpec) -> str:
        job, _ = await commands.submit(self.context, spec, "amy")
        return job.id

    async def job(self, job_id: str) -> Job:
        return await self.context.store.job(job_id)

    async def tasks(self, job_id: str, attempt: int | None = None) -> list[Task]:
        return await self.context.store.tasks(job_id, attempt)

    async def events(self, job_id: str | None = None) -> list[Event]:
        return await self.context.store.events(job_id=job_id, limit=10_000)

    async def told(self, job_id: str) -> list[str]:
        """The kinds of a job's events, without audit events."""
        return [event.kind for event in await self.events(job_id) if not event.kind.startswith("audit.")]

    async def becomes(self, job_id: str, state: str, *, attempt: int | None = None) -> Job:
        """Wait until the stored job is in the state, with the deadline of all waits here. The engine has it in memory a
        moment after the commit, so wait for that too: slots, open jobs and listeners then match the stored job."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                job = await self.job(job_id)
                if job.state_name == state and attempt in (None, job.attempt):
                    break
                await asyncio.sleep(0.002)
        await self.until(lambda: self._has_caught_up(job))
        return job

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                await asyncio.sleep(0.002)

    async def settled(self) -> None:
        """Until no step of the engine is under way, apart from those that wait for the test or for the node."""
        quiet = 0
        async with asyncio.timeout(DEADLINE_S):
            while quiet < 3:
                await asyncio.sleep(0.002)
                quiet = 0 if self._is_busy() else quiet + 1

    def _has_caught_up(self, stored: Job) -> bool:
        entry = self.context.open_jobs.get(stored.id)
        return entry is None or (not stored.is_final and entry.job.version >= stored.version)

    def _is_busy(self) -> bool:
        entries = self.context.open_jobs.entries()
        waits = ("stop ", "hold ", "resume ") if self.backend.is_away else ("stop ", "hold ")
        stops = self.backend.auto_stop and not self.backend.is_away
        return (
            self.context.wake.is_set()
            or any(entry.inbox or entry.is_observing or entry.lock.locked() for entry in entries)
            or any(not task.get_name().startswith(waits) for task in self.context._tasks)
            or (stops and any(isinstance(entry.job.state, Stopping) for entry in entries))
        )
