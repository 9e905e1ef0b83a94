"""Reads the logs of tasks from the other server, by position, and follows them."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from muster.backends.muster_server.connection import ANSWER_S, Answer, OtherServer
from muster.domain.dropped_bytes import DroppedBytes
from muster.ports.capabilities import LogChunk, TaskRef

_PIECE_BYTES = 1 << 20
_WAIT_S = 30.0

Find = Callable[[TaskRef], Awaitable[str]]
"""The id of the task's job on the other server. Raises NotFound and Unreachable."""


class OtherLogs:
    """Implements `ports.capabilities.TaskLogs`."""

    def __init__(self, server: OtherServer, find: Find) -> None:
        self._server, self._find = server, find

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        return await self._chunk(task, offset=offset, limit=min(limit, _PIECE_BYTES))

    async def tail_offset(self, task: TaskRef, lines: int) -> int:
        return (await self._chunk(task, tail=lines, limit=0)).offset

    async def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        chunk = await self._chunk(task, offset=0, limit=0)
        size = chunk.size
        yield size
        while True:
            chunk = await self._chunk(task, offset=size, limit=0, wait=_WAIT_S)
            if chunk.size > size:
                size = chunk.size
                yield size
            elif chunk.ended:
                return

    async def collect(self, task: TaskRef, target: Path) -> DroppedBytes | None:
        first = await self._chunk(task, offset=0, limit=_PIECE_BYTES)
        await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        try:
            with await asyncio.to_thread(partial.open, "wb") as file:
                await self._copy(task, first, file)
            await asyncio.to_thread(partial.replace, target)
        finally:
            with suppress(FileNotFoundError):
                await asyncio.to_thread(partial.unlink)
        return first.dropped

    async def _copy(self, task: TaskRef, chunk: LogChunk, file: BinaryIO) -> None:
        while True:
            await asyncio.to_thread(file.write, chunk.data)
            offset = chunk.offset + len(chunk.data)
            if chunk.dropped is not None and chunk.dropped.contains(offset):
                offset = chunk.dropped.end
            elif not chunk.data or offset >= chunk.size:
                break
            chunk = await self._chunk(task, offset=offset, limit=_PIECE_BYTES)
        await asyncio.to_thread(_flush, file)

    async def _chunk(self, task: TaskRef, *, wait: float = 0.0, **asked: int) -> LogChunk:
        _, role, index = task.task_id.rsplit(".", 2)
        params: dict[str, str | int | float] = {"task": f"{role}-{index}", "attempt": 1, **asked}
        if wait:
            params["wait"] = wait
        path = f"/jobs/{await self._find(task)}/logs/chunk"
        return _read(await self._server.request("GET", path, params=params, within_s=wait + ANSWER_S))


def _read(answer: Answer) -> LogChunk:
    headers = answer.headers
    dropped = headers.get("Muster-Log-Dropped")
    return LogChunk(
        answer.content,
        int(headers["Muster-Log-Offset"]),
        int(headers["Muster-Log-Size"]),
        headers["Muster-Log-Ended"] == "true",
        None if not dropped else DroppedBytes(*map(int, dropped.split("-"))),
    )


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
