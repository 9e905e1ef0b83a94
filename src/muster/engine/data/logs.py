"""Reads the logs of tasks by byte position: from the node while a task runs, from the collected file afterwards."""

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import MusterError, NotFound, Unreachable
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.lib.file_tails import tail_offset
from muster.lib.sparse_files import holes_of
from muster.ports.capabilities import LogChunk, TaskLogs, TaskRef, required

PIECE_BYTES = 64 << 10
_CACHED_PIECES = 256


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one task's log. `payload` is their JSON, made once for all readers."""

    task: str
    offset: int
    end: int
    payload: str

    @classmethod
    def of(cls, task: str, offset: int, end: int, text: str) -> Self:
        payload = {"task": task, "offset": offset, "end": end, "text": text}
        return cls(task, offset, end, json.dumps(payload, ensure_ascii=False))

    def payload_text(self) -> str:
        return str(json.loads(self.payload)["text"])


class LogReader:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._pieces: OrderedDict[tuple[str, int], Piece] = OrderedDict()

    async def start_of_tail(self, task: Task, cluster: str, lines: int) -> int:
        if task.log is not None:
            return await asyncio.to_thread(_tail_of_file, self.file(task), lines)
        return await self._live(cluster).tail_offset(TaskRef.of(task), lines)

    async def line_start(self, task: Task, cluster: str, offset: int) -> int:
        """The beginning of the first line at or behind this position; the position itself if that is far away."""
        if not offset:
            return 0
        chunk = await self.chunk(task, cluster, offset - 1)
        return offset + max(0, chunk.data.find(b"\n"))

    def file(self, task: Task) -> Path:
        """The collected log. Raises NotFound if it was removed since."""
        assert task.log is not None
        path = self._context.logs / task.log
        if not path.exists():
            raise NotFound(
                f"the log of {task.name} was removed", hint="logs of ended jobs are kept for a time: keepData"
            )
        return path

    async def pieces(self, task: Task, cluster: str, offset: int, *, follow: bool) -> AsyncIterator[Piece]:
        """Yields the log from `offset` to the present end; with `follow`, to the end of the task. Bytes that a task
        prints meanwhile do not move the present end: a task that prints quickly would move it for ever."""
        end: int | None = None
        while end is None or offset < end:
            chunk = await self.chunk(task, cluster, offset)
            end = chunk.size if end is None and not follow else end
            if chunk.dropped is not None and chunk.dropped.contains(offset):
                yield _marker_piece(task, chunk.dropped, offset)
                offset = chunk.dropped.end
                continue
            is_over = chunk.ended or not follow
            if piece := self._piece(task, chunk):
                yield piece
                offset = piece.end
            elif is_over:
                return
            else:
                await self._growth(task, cluster, beyond=chunk.offset + len(chunk.data))

    def sizes(self, task: Task, cluster: str) -> AsyncGenerator[int]:
        """The size of a running task's log now and whenever it has grown, up to the end of the task. Raises NotFound
        and Unreachable."""
        return self._live(cluster).watch(TaskRef.of(task))

    async def extent(self, task: Task, cluster: str) -> LogChunk:
        """An empty chunk, which has the size of the log and what was dropped of it."""
        return await self.chunk(task, cluster, 0, 0)

    async def raw(
        self, task: Task, cluster: str, start: int, end: int, *, marked: bool = False
    ) -> AsyncIterator[bytes]:
        """The bytes from `start` up to but not including `end`. They end before bytes that were dropped, also those
        that are dropped meanwhile; if `marked`, a line is in place of those."""
        while start < end:
            chunk = await self.chunk(task, cluster, start, min(PIECE_BYTES, end - start))
            if marked and chunk.dropped is not None and chunk.dropped.contains(start):
                yield chunk.dropped.marker(start).encode()
                start = chunk.dropped.end
                continue
            if not chunk.data:
                return
            yield chunk.data
            start += len(chunk.data)

    async def chunk(self, task: Task, cluster: str, offset: int, limit: int = PIECE_BYTES) -> LogChunk:
        """Returns at most this many bytes from `offset` on. There may be fewer although more follow; none at the end of
        the log, and at bytes that were dropped. Raises NotFound if there is no log, and Unreachable if it cannot be
        read now."""
        if task.log is None:
            try:
                return await self._live(cluster).read(TaskRef.of(task), offset, limit)
            except MusterError as error:
                task = await self._refreshed(task, error)
        if limit > PIECE_BYTES:
            return await asyncio.to_thread(_read_file, self.file(task), offset, limit)
        return _read_file(self.file(task), offset, limit)

    def _live(self, cluster: str) -> TaskLogs:
        backend = self._context.backends.get(cluster)
        if backend is None:
            raise NotFound(f"cluster {cluster} is not there any more, and this log was not collected")
        return required(backend.capabilities.logs, "logs", cluster)

    async def _refreshed(self, task: Task, error: MusterError) -> Task:
        """The task as it is stored now. A log that is no longer on the node has been collected."""
        for now in await self._context.store.tasks(task.job_id, task.attempt):
            if now.id == task.id and now.log is not None:
                return now
        if isinstance(error, Unreachable):
            raise error
        raise NotFound(f"the log of {task.name} is not there any more")

    def _piece(self, task: Task, chunk: LogChunk) -> Piece | None:
        """What was read, up to a character that is not complete yet. A line may continue in the next piece: progress
        bars never end theirs."""
        if not chunk.data:
            return None
        known = self._pieces.get((task.id, chunk.offset))
        if known is not None:
            return known
        length = len(chunk.data) if chunk.ended else _whole_characters(chunk.data)
        if not length:
            return None
        text = chunk.data[:length].decode("utf-8", "replace")
        piece = Piece.of(task.name, chunk.offset, chunk.offset + length, text)
        if text.endswith("\n") or chunk.ended or len(chunk.data) >= PIECE_BYTES:
            self._pieces[task.id, chunk.offset] = piece  # what is only a beginning will be longer for the next reader
        if len(self._pieces) > _CACHED_PIECES:
            self._pieces.popitem(last=False)
        return piece

    async def _growth(self, task: Task, cluster: str, *, beyond: int) -> None:
        """Return when the log is longer than that, or will not grow any more."""
        try:
            async with aclosing(self.sizes(task, cluster)) as sizes:
                async for size in sizes:
                    if size > beyond:
                        return
        except MusterError as error:
            await self._refreshed(task, error)


def _whole_characters(data: bytes) -> int:
    """The number of bytes before a UTF-8 character that is cut off at the end."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # in the middle of a character: look for its first byte
        needed = 4 if byte >= 0b1111_0000 else 3 if byte >= 0b1110_0000 else 2 if byte >= 0b1100_0000 else 1
        return len(data) - back if needed > back else len(data)
    return len(data)


def _marker_piece(task: Task, dropped: DroppedBytes, offset: int) -> Piece:
    return Piece.of(task.name, offset, dropped.end, dropped.marker(offset))


def _read_file(path: Path, offset: int, limit: int) -> LogChunk:
    """A collected log may be the file that its task wrote. What it has of holes counts as dropped, in place."""
    dropped = DroppedBytes.of_file(path.name)
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if dropped is None:
            holes = DroppedBytes.reported(holes_of(descriptor))
            if holes is not None and offset < holes.end:
                limit = min(limit, max(0, holes.start - offset))
            data = os.pread(descriptor, limit, offset)
            return LogChunk(data, offset, size, offset + len(data) >= size, holes)
        if offset < dropped.end:
            limit = min(limit, max(0, dropped.start - offset))
        data = os.pread(descriptor, limit, dropped.position_in_file(offset))
        whole = size + dropped.length
        return LogChunk(data, offset, whole, offset + len(data) >= whole, dropped)


def _tail_of_file(path: Path, lines: int) -> int:
    dropped = DroppedBytes.of_file(path.name)
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if dropped is None:
            holes = holes_of(descriptor)
            return tail_offset(descriptor, size, lines, holes[1] if holes else 0)
        position = tail_offset(descriptor, size, lines, dropped.start)
        return dropped.start if position == dropped.start else dropped.offset_in_log(position)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound("the log has been removed") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)
