"""Reads the logs of tasks from the other server, by position, and follows them."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from muster.backends.muster_server.connection import ANSWER_S, Answer, OtherServer
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import BackendError, Unreachable
from muster.ports.capabilities import LogChunk, TaskRef

_PIECE_BYTES = 1 << 20
_WAIT_S = 30.0
_UNLIMITED = 1 << 60
_DIGITS = 19
_SLACK = 1 << 20
"""What logs may be longer than is kept of them, so that those that were cut there are not cut once more."""

Find = Callable[[TaskRef], Awaitable[str]]
"""The id of the task's job on the other server. Raises NotFound and Unreachable."""


class OtherLogs:
    """Implements `ports.capabilities.TaskLogs`."""

    def __init__(self, server: OtherServer, find: Find, limit: int | None) -> None:
        """`limit` is the number of bytes that this server keeps of one log."""
        self._server, self._find = server, find
        self._most_collected = _UNLIMITED if limit is None else limit + _SLACK

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
        dropped = DroppedBytes.beyond(self._most_collected, first.size, first.dropped)
        await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        try:
            with await asyncio.to_thread(partial.open, "wb") as file:
                await self._copy(task, first.size, dropped, file)
            await asyncio.to_thread(partial.replace, target)
        finally:
            with suppress(FileNotFoundError):
                await asyncio.to_thread(partial.unlink)
        return dropped

    async def _copy(self, task: TaskRef, size: int, dropped: DroppedBytes | None, file: BinaryIO) -> None:
        """Which bytes are copied is decided before, whatever the other server says of the log meanwhile."""
        offset = 0
        while True:
            if dropped is not None and dropped.contains(offset):
                offset = dropped.end
            end = dropped.start if dropped is not None and offset < dropped.start else size
            if offset >= end:
                break
            chunk = await self._chunk(task, offset=offset, limit=min(_PIECE_BYTES, end - offset))
            if chunk.offset != offset or not chunk.data:
                raise BackendError(f"the other server has no bytes of the log from {offset} on, which has {size}")
            await asyncio.to_thread(file.write, chunk.data)
            offset += len(chunk.data)
        await asyncio.to_thread(_flush, file)

    async def _chunk(self, task: TaskRef, *, wait: float = 0.0, **asked: int) -> LogChunk:
        _, role, index = task.task_id.rsplit(".", 2)
        params: dict[str, str | int | float] = {"task": f"{role}-{index}", "attempt": 1, **asked}
        if wait:
            params["wait"] = wait
        path = f"/jobs/{await self._find(task)}/logs/chunk"
        answer = await self._server.request("GET", path, params=params, within_s=wait + ANSWER_S)
        chunk = _read(answer)
        if chunk is None or len(chunk.data) > asked.get("limit", _PIECE_BYTES):
            raise Unreachable("the answer of the other Muster server cannot be read: it is no piece of the log")
        return chunk


def _read(answer: Answer) -> LogChunk | None:
    """Returns None if the answer is something else."""
    offset, size = (_number(answer.headers.get(f"Muster-Log-{name}", "")) for name in ("Offset", "Size"))
    dropped = answer.headers.get("Muster-Log-Dropped")
    missing = _range(dropped, size) if dropped else None
    if offset is None or size is None or (dropped and missing is None):
        return None
    return LogChunk(answer.content, offset, size, answer.headers.get("Muster-Log-Ended") == "true", missing)


def _range(text: str, size: int | None) -> DroppedBytes | None:
    start, end = (_number(part) for part in (*text.split("-", 1), "")[:2])
    if start is None or end is None or size is None or not start <= end <= size:
        return None
    return DroppedBytes(start, end)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else None


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
