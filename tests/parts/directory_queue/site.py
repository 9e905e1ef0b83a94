"""Muster's engine over a directory queue: the toy engine as a real process, the real scheduler, a real SQLite store."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from muster.domain.clusters import PhysicalCluster
from muster.domain.jobs import Job
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.archives import SignedArchives
from muster.engine.requests import commands
from muster.engine.running import running_engine
from muster.stores.opening import open_store
from tests.parts.directory_queue.backend import DirectoryQueueBackend
from tests.parts.directory_queue.layout import Layout, write

CLUSTER = "batch"
DEADLINE_S = 60.0


def start_engine(root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.parts.directory_queue.engine", str(root)],
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )


def end_engine(engine: subprocess.Popen[bytes], layout: Layout) -> None:
    """Kills the engine and the tasks that it started, which have their own sessions."""
    engine.kill()
    engine.wait()
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if Path(os.readlink(path)).is_relative_to(layout.work):  # noqa: PTH115
                os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended, or belongs to another process


@dataclass(slots=True)
class Site:
    folder: Path
    context: Context = field(init=False)
    backend: DirectoryQueueBackend = field(init=False)
    engine: subprocess.Popen[bytes] | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def layout(self) -> Layout:
        return Layout(self.folder / "queue")

    def offer(self, nodes: Mapping[str, int], others: Mapping[str, int] | None = None) -> None:
        """Sets the CPUs of each node, and how many of them others use."""
        self.layout.make()
        write(self.layout.others, others or {})
        write(self.layout.nodes, nodes)

    def start_engine(self) -> None:
        self.engine = start_engine(self.layout.root)

    async def open(self) -> "Site":
        store = await open_store(f"sqlite:///{self.folder / 'muster.db'}")
        self._stack.push_async_callback(store.close)
        archives = SignedArchives(self.folder / "packages", "http://127.0.0.1:1", b"key")
        self.backend = DirectoryQueueBackend(PhysicalCluster(CLUSTER, "directory"), archives, self.layout.root)
        self.context = Context(
            store, {CLUSTER: self.backend}, CLUSTER, self.folder / "logs", self.folder / "packages", clock=time.time
        )
        await self._stack.enter_async_context(running_engine(self.context))
        return self

    async def close(self) -> None:
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    def end(self) -> None:
        if self.engine is not None:
            end_engine(self.engine, self.layout)

    async def submit(self, spec: JobSpec) -> str:
        job, _ = await commands.submit(self.context, spec, "amy")
        return job.id

    async def job(self, job_id: str) -> Job:
        return await self.context.store.job(job_id)

    async def tasks(self, job_id: str, attempt: int | None = None) -> list[Task]:
        return list(await self.context.store.tasks(job_id, attempt))

    async def becomes(self, job_id: str, state: str, attempt: int | None = None) -> Job:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                job = await self.job(job_id)
                if job.state_name == state and attempt in (None, job.attempt):
                    return job
                assert not job.is_final, f"{job.state_name}: {job.reason}"
                await asyncio.sleep(0.02)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                await asyncio.sleep(0.02)

    async def all_tasks_are(self, job_id: str, state: str) -> list[Task]:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                tasks = await self.tasks(job_id)
                if tasks and all(task.state_name == state for task in tasks):
                    return tasks
                await asyncio.sleep(0.02)
