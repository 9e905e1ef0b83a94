"""The capabilities of a pool for the data of tasks on its nodes: logs, metrics, outputs, and their cleanup."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path

from muster.agent.errors import UNKNOWN_TASK
from muster.agent.tasks.log_times import marks_of
from muster.backends.agents.connection import AgentNode, quietly
from muster.backends.agents.logs import AgentLogs
from muster.backends.agents.observations import observation
from muster.backends.agents.output_collection import OutputCollection
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import BackendError, NotFound
from muster.domain.log_times import LogTimes
from muster.ports.backend import Observation
from muster.ports.capabilities import Collected, LogChunk, PastEnd, TaskRef

RETIRE_AFTER_S = 1.0
_RETIRED_AT_ONCE = 1000

AgentOf = Callable[[str], AgentNode]


class PoolLogs:
    """Implements `ports.capabilities.TaskLogs` and `TaskLogTimes`."""

    def __init__(self, agent: Callable[[TaskRef], AgentNode], logs: AgentLogs) -> None:
        self._agent = agent
        self._logs = logs

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        with _not_found():
            return await self._logs.read(self._agent(task), task.task_id, offset, limit)

    async def tail_offset(self, task: TaskRef, lines: int) -> int:
        with _not_found():
            answer = await self._agent(task).ask("tail_offset", task=task.task_id, lines=lines)
        return int(answer["offset"])

    async def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        with _not_found():
            async with aclosing(self._logs.watch(self._agent(task), task.task_id)) as sizes:
                async for size in sizes:
                    yield size

    async def collect(self, task: TaskRef, target: Path) -> DroppedBytes | None:
        with _not_found():
            return await self._logs.collect(self._agent(task), task.task_id, target)

    async def times(self, task: TaskRef) -> LogTimes:
        with _not_found():
            answer = await self._agent(task).ask("log_times", task=task.task_id)
        return LogTimes.of(marks_of(answer["data"]))


class PoolMetrics:
    """Implements `ports.capabilities.TaskMetrics`."""

    def __init__(self, agent: Callable[[TaskRef], AgentNode]) -> None:
        self._agent = agent

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        with _not_found():
            answer = await self._agent(task).ask("read_metrics", task=task.task_id, offset=offset, limit=limit)
        data, size = answer["data"], int(answer["size"])
        return LogChunk(data, offset, size, bool(answer["ended"]) and offset + len(data) >= size)


@contextmanager
def _not_found() -> Iterator[None]:
    """A task that a node does not know has left no log there."""
    try:
        yield
    except BackendError as error:
        if error.reason != UNKNOWN_TASK:
            raise
        raise NotFound(error.message) from None


class PoolOutputs:
    """Implements `ports.capabilities.TaskOutputs`."""

    def __init__(self, collection: OutputCollection) -> None:
        self._collection = collection

    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        return await self._collection.collect(task.task_id, task.node, patterns, target, admit)


class PoolCleanup:
    """Implements `ports.capabilities.Cleanup`. Nodes are asked to retire settled tasks in batches, a little later."""

    def __init__(self, agent: AgentOf, *, retire_after_s: float = RETIRE_AFTER_S) -> None:
        self._agent = agent
        self._retire_after_s = retire_after_s
        self._settled: dict[str, list[str]] = defaultdict(list)
        self._retiring: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def settled(self, task: TaskRef) -> None:
        if not self._settled:
            self._timer = asyncio.get_running_loop().call_later(self._retire_after_s, self._start_retiring)
        self._settled[task.node].append(task.task_id)

    async def forget(self, task: TaskRef) -> None:
        await self._agent(task.node).ask("forget", task=task.task_id)

    async def past_ends(self, node: str, job_ids: Sequence[str]) -> Sequence[PastEnd]:
        agent = self._agent(node)
        ends: list[PastEnd] = []
        for first in range(0, len(job_ids), _RETIRED_AT_ONCE):
            answer = await agent.ask("past_ends", jobs=list(job_ids[first : first + _RETIRED_AT_ONCE]))
            ends += [_past_end(observation(agent, status)) for status in answer["tasks"]]
        return ends

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._retiring:
            task.cancel()

    def _start_retiring(self) -> None:
        settled, self._settled = self._settled, defaultdict(list)
        task = asyncio.create_task(self._retire(settled))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _retire(self, settled: Mapping[str, Sequence[str]]) -> None:
        for node, tasks in settled.items():
            for first in range(0, len(tasks), _RETIRED_AT_ONCE):
                batch = list(tasks[first : first + _RETIRED_AT_ONCE])
                await quietly(self._agent(node).ask("retire", tasks=batch))


def _past_end(seen: Observation) -> PastEnd:
    return PastEnd(
        seen.task_id,
        seen.node or "",
        seen.started_at,
        seen.ended_at,
        seen.exit_code,
        seen.signal,
        seen.stopped,
        seen.error_code,
        seen.error_message,
    )
