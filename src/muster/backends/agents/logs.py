"""Logs of tasks on nodes with agents: they are read by byte position, followed by size, and collected as a whole."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from muster.agent.system.frames import Message
from muster.backends.agents.connection import AgentNode, quietly
from muster.backends.agents.flow_control import patiently
from muster.backends.agents.log_watch import LogWatch
from muster.backends.agents.piece_transfer import fetch
from muster.domain.dropped_bytes import DroppedBytes
from muster.lib.partial_files import PartialFile
from muster.ports.backend import Phase
from muster.ports.capabilities import LogChunk

_CHUNK = 1 << 20
_SLACK = 64 << 20
"""What a command may have written since its agent last looked, many times over. No more is collected, whatever the
agent says."""


_UNLIMITED = 1 << 62


class AgentLogs:
    def __init__(self, limit: int | None = None) -> None:
        """`limit` is the number of bytes that agents keep of one log."""
        self.most_collected = _UNLIMITED if limit is None else limit + _SLACK
        self._watches: dict[str, LogWatch] = {}
        self._rewatching: set[asyncio.Task[None]] = set()

    async def read(self, agent: AgentNode, task_id: str, offset: int, limit: int) -> LogChunk:
        answer = await agent.ask("read_log", task=task_id, offset=offset, limit=min(limit, _CHUNK))
        data, size = answer["data"], int(answer["size"])
        is_last = bool(answer["ended"]) and offset + len(data) >= size
        return LogChunk(data, offset, size, is_last, _dropped(answer))

    async def watch(self, agent: AgentNode, task_id: str) -> AsyncGenerator[int]:
        watch = self._watches.setdefault(task_id, LogWatch(agent.node.name))
        watch.followers += 1
        try:
            if watch.followers == 1:
                await agent.ask("watch_log", task=task_id)
            now = await agent.ask("read_log", task=task_id, offset=0, limit=0)
            watch.grown(int(now["size"]))
            if now["ended"]:
                watch.end()
            async for size in watch.sizes():
                yield size
        finally:
            watch.followers -= 1
            if not watch.followers:
                self._watches.pop(task_id, None)
                await quietly(agent.ask("unwatch_log", task=task_id))

    async def collect(self, agent: AgentNode, task_id: str, target: Path) -> DroppedBytes | None:
        """Copy the whole log, over as many connections as it takes. Copying starts at the beginning: a log has no
        version, as it may still grow. Which bytes are left out is decided once, before any behind them is copied."""
        pace = agent.inward
        read = partial(agent.ask, "read_log", task=task_id)
        most = self.most_collected
        dropped: DroppedBytes | None = None
        with PartialFile(target.with_suffix(".partial"), limit=0) as file:

            async def fetch_rest() -> None:
                nonlocal dropped
                size = min(_CHUNK, pace.window)
                offset = _offset(dropped, file.size)
                answer = await pace.timed(size, lambda: read(offset=offset, limit=size))
                data, end = answer["data"], int(answer["size"])
                if dropped is None:
                    found = DroppedBytes.beyond(most, end, _dropped(answer))
                    if found is not None and file.size <= found.start:
                        dropped, data = found, data[: found.start - file.size]
                await asyncio.to_thread(file.append, data)
                if dropped is not None:
                    await fetch(read, file.size, dropped.start, pace, file.append)
                end = min(end, _offset(dropped, most))
                await fetch(read, _offset(dropped, file.size), end, pace, file.append)

            before = -1
            while file.size > before:
                before = file.size
                await patiently(fetch_rest, lambda: file.size)
            await asyncio.to_thread(file.commit, target)
        return dropped

    async def close(self) -> None:
        for task in self._rewatching:
            task.cancel()
        await asyncio.gather(*self._rewatching, return_exceptions=True)

    def grown(self, task_id: str, size: int) -> None:
        if (watch := self._watches.get(task_id)) is not None:
            watch.grown(size)

    def status_changed(self, status: Mapping[str, Any]) -> None:
        """End the watch of a log when its task has ended."""
        watch = self._watches.get(status["task"])
        if watch is not None and Phase(status["phase"]) in (Phase.ENDED, Phase.LOST):
            watch.grown(int(status.get("log_bytes") or 0))
            watch.end()

    def never_started(self, task_ids: Iterable[str]) -> None:
        """End the watches of tasks that a node knew for a moment only, before they were refused."""
        for task_id in task_ids:
            if (watch := self._watches.get(task_id)) is not None:
                watch.end()

    def watch_again(self, agent: AgentNode) -> None:
        """Watch the logs of a node again, as a new agent does not know which ones the agent before it watched."""
        watched = [task_id for task_id, watch in self._watches.items() if watch.node == agent.node.name]
        if watched:
            task = asyncio.create_task(_watch_all(agent, watched))
            self._rewatching.add(task)
            task.add_done_callback(self._rewatching.discard)


async def _watch_all(agent: AgentNode, task_ids: list[str]) -> None:
    for task_id in task_ids:
        await quietly(agent.ask("watch_log", task=task_id))


def _dropped(answer: Message) -> DroppedBytes | None:
    return DroppedBytes.reported(answer.get("dropped"))


def _offset(dropped: DroppedBytes | None, position: int) -> int:
    return position if dropped is None else dropped.offset_in_log(position)
