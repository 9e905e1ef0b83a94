"""The backend of the directory queue: it submits gangs to the queue and reads their results."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import NotFound, Problem, Rejected, Unreachable
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.nodes import Node, NodeState
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.resources import Capacity
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.launch.symbols import assign_symbols
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
from muster.ports.capabilities import Capabilities, LogChunk, PastEnd, TaskRef
from tests.parts.directory_queue.layout import Layout, has_started, listed, read, write_once

MEMORY_BYTES = 64 << 30
PACKAGE_LIFETIME_S = 600.0
LOOK_EVERY_S = 0.02
HIDDEN = "(hidden)"


class DirectoryQueueBackend:
    """Implements `ports.backend.Backend` and the capability `engine`. Tasks for one node may wait in the queue."""

    poll_s = 0.05
    cpu_unit_m = 1

    def __init__(self, settings: PhysicalCluster, archives: Archives, root: Path) -> None:
        self.cluster = settings.name
        self.settings = settings
        self.layout = Layout(root).make()
        self._archives = archives
        self._pool: Pool | None = None
        self._listener: BackendListener | None = None
        self._watching: asyncio.Task[None] | None = None
        self.asked = 0
        """How often `observe_all` was called."""
        self.told_of_waiting: dict[str, Any] = {}
        """What is told of tasks that wait, in place of what the engine says."""
        self.capabilities = Capabilities(engine=self, logs=DirectoryLogs(self.layout), cleanup=self)

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching

    async def configure(self, settings: PhysicalCluster) -> None:
        self.settings = settings

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return [Problem("mounts", "a directory queue mounts nothing", "leave it out")] if spec.mounts else []

    def nodes(self) -> list[Node]:
        return [
            Node(name, self.cluster, "127.0.0.1", Capacity(cpus * 1000, MEMORY_BYTES), NodeState.READY)
            for name, cpus in read(self.layout.nodes).items()
        ]

    def pool(self) -> Pool | None:
        return self._pool

    def unknown_why(self) -> str:
        return "" if self._pool is not None else "its folder cannot be read"

    async def look(self, max_age_s: float = 3.0) -> None:
        """Its folder is watched."""

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        return assign_symbols(gang, ports)

    def render(self, launch: GangLaunch) -> Rendered:
        """The rendered job without the address of the package, which is created when the gang is submitted, and without
        the values of the user's own variables, which may be secrets."""
        tasks = [
            {**task, "env": {name: HIDDEN if name in task["literal"] else text for name, text in task["env"].items()}}
            for task in self._tasks(launch)
        ]
        content = json.dumps({"tasks": tasks}, indent=2)
        return Rendered((RenderedFile(f"{launch.gang.key}.json", content),))

    async def launch(self, launch: GangLaunch) -> Launched:
        self._answer()
        key = launch.gang.key
        if any("no-such-partition" in request.env for request in launch.requests):
            raise Rejected("the queue has no such partition", reason="rejected-by-engine")
        if not (self.layout.gangs / f"{key}.json").exists():
            tasks = [
                {**task, "package": self._archives.url(one.package, PACKAGE_LIFETIME_S) if one.package else None}
                for task, one in zip(self._tasks(launch), launch.requests, strict=True)
            ]
            write_once(self.layout.queue / f"{key}.json", {"tasks": tasks})
        return Launched({request.task_id: request.task_id for request in launch.requests})

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        self._answer()
        for task in tasks:
            key = task.task_id.rsplit(".", 2)[0]
            if any((folder / f"{key}.json").exists() for folder in (self.layout.queue, self.layout.gangs)):
                order = {"key": key, "task": task.task_id, "grace_s": grace_s}
                write_once(self.layout.cancels / f"{task.task_id}.json", order)
            elif self._listener is not None:
                self._listener.task_observed(self.cluster, Observation(task.task_id, Phase.ENDED, stopped=True))
        return []

    async def observe_all(self, node: str | None = None) -> Observed:
        self.asked += 1
        if self.layout.down.exists():
            return Observed((), Scope())
        return Observed(tuple(self._observations()), Scope(everything=True))

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        return []

    def settled(self, task: TaskRef) -> None:
        """The record stays until the job is deleted, because a queue keeps its history."""

    async def forget(self, task: TaskRef) -> None:
        """The record is the engine's, and of the whole gang: it goes with the last of its tasks."""
        shutil.rmtree(self.layout.work / task.task_id, ignore_errors=True)
        record = self.layout.record(task.task_id)
        tasks = set(read(record).get("tasks", ()))
        if task.task_id in tasks:
            (self.layout.forgotten / task.task_id).touch()
        if tasks and all((self.layout.forgotten / one).exists() for one in tasks):
            record.unlink(missing_ok=True)

    def _tasks(self, launch: GangLaunch) -> list[dict[str, Any]]:
        spec = launch.gang.spec
        return [
            {
                "id": request.task_id,
                "rank": task.rank,
                "argv": list(request.argv),
                "env": dict(request.env),
                "literal": sorted({*spec.env, *spec.role(task.role).env}),
                "files": dict(request.files),
                "ports": list(request.ports),
                "cpu_m": request.cpu_m or 0,
            }
            for task, request in zip(launch.gang.tasks, launch.requests, strict=True)
        ]

    def _observations(self) -> Iterator[Observation]:
        """The queue is read before the records: a gang that is started in between is then found in both, not in
        neither."""
        queued = {path.stem: read(path) for path in listed(self.layout.queue)}
        records = {path.stem: read(path) for path in listed(self.layout.gangs)}
        for key, gang in queued.items():
            if gang and not has_started(records.get(key, {})):
                waits = records.pop(key, {})
                yield from (replace(_waiting(task["id"], waits), **self.told_of_waiting) for task in gang["tasks"])
        for record in records.values():
            for task_id, facts in record.get("tasks", {}).items():
                if not (self.layout.forgotten / task_id).exists():
                    yield _observation(task_id, facts)

    def _answer(self) -> None:
        if self.layout.down.exists():
            raise Unreachable("the queue does not answer")

    async def _watch(self) -> None:
        while True:
            nodes, others = read(self.layout.nodes), read(self.layout.others)
            pool = _pool(nodes, others) if nodes else None
            if pool != self._pool and self._listener is not None:
                self._pool = pool
                self._listener.nodes_changed(self.cluster)
            await asyncio.sleep(LOOK_EVERY_S)


class DirectoryLogs:
    """Implements `ports.capabilities.TaskLogs`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        data = self._bytes(task)
        piece = data[offset : offset + limit]
        return LogChunk(piece, offset, len(data), self._has_ended(task) and offset + len(piece) >= len(data))

    async def tail_offset(self, task: TaskRef, lines: int) -> int:
        data = self._bytes(task)
        kept = data.splitlines(keepends=True)[-lines:] if lines else []
        return len(data) - sum(map(len, kept))

    async def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        last = -1
        while True:
            has_ended, size = self._has_ended(task), len(self._bytes(task))
            if size != last:
                last = size
                yield size
            if has_ended:
                return
            await asyncio.sleep(LOOK_EVERY_S)

    async def collect(self, task: TaskRef, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self._bytes(task))

    def _bytes(self, task: TaskRef) -> bytes:
        try:
            return self._layout.log(task.task_id).read_bytes()
        except FileNotFoundError:
            if self._layout.record(task.task_id).exists():
                return b""  # it has not started
            raise NotFound(f"the queue has no log of {task.task_id}") from None

    def _has_ended(self, task: TaskRef) -> bool:
        record = read(self._layout.record(task.task_id))
        return bool(record.get("tasks", {}).get(task.task_id, {}).get("phase") == "ended")


def _waiting(task_id: str, waits: Mapping[str, Any]) -> Observation:
    reason = waits.get("reason", "(None)")
    return Observation(task_id, Phase.WAITING, task_id, wait_reason=reason, starts_at=waits.get("starts_at"))


def _observation(task_id: str, facts: Mapping[str, Any]) -> Observation:
    return Observation(
        task_id,
        Phase(facts["phase"]),
        task_id,
        facts.get("node"),
        started_at=facts.get("started_at"),
        ended_at=facts.get("ended_at"),
        exit_code=facts.get("exit_code"),
        signal=facts.get("signal"),
        stopped=bool(facts.get("stopped")),
    )


def _pool(nodes: Mapping[str, int], others: Mapping[str, int]) -> Pool:
    def of(cpus: int, count: int) -> PoolCapacity:
        return PoolCapacity(cpus * 1000, count * MEMORY_BYTES)

    total, used, largest = sum(nodes.values()), sum(others.values()), max(nodes.values())
    return Pool(of(total, len(nodes)), of(total - used, len(nodes)), of(largest, 1), head_start=of(largest, 1))
