"""When the bytes of logs were written: asked from the node while a task runs, and kept next to a collected log."""

import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muster.domain.errors import MusterError
from muster.domain.log_times import LogTimes
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.logs import Piece
from muster.ports.capabilities import TaskRef

_ASK_AGAIN_S = 1.0
_CACHED = 256


class TimesReader:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._recent: OrderedDict[str, tuple[float, LogTimes]] = OrderedDict()

    async def times(self, task: Task, cluster: str, upto: int = 0) -> LogTimes:
        """The marks of a log. They are asked for again, at most once a second, if they do not reach so far."""
        known = self._recent.get(task.id)
        if known is not None and (known[1].known >= upto or time.monotonic() - known[0] < _ASK_AGAIN_S):
            return known[1]
        found = await self._found(task, cluster)
        self._recent[task.id] = (time.monotonic(), found)
        self._recent.move_to_end(task.id)
        if len(self._recent) > _CACHED:
            self._recent.popitem(last=False)
        return found

    async def _found(self, task: Task, cluster: str) -> LogTimes:
        kept = self._context.logs / times_name(task)
        if kept.exists():
            return LogTimes.of(json.loads(kept.read_text()))
        backend = self._context.backends.get(cluster)
        source = backend.capabilities.log_times if backend is not None else None
        if source is None or task.log is not None:
            return LogTimes()
        try:
            return await source.times(TaskRef.of(task))
        except MusterError:
            return LogTimes()


async def keep_times(context: Context, cluster: str, task: Task) -> None:
    """Keep the marks of a log that is collected. Without them, the log is as good as before."""
    source = context.backends[cluster].capabilities.log_times
    if source is None:
        return
    with suppress(MusterError, OSError):
        times = await source.times(TaskRef.of(task))
        if times.known:
            _write(context.logs / times_name(task), times)


def times_name(task: Task) -> str:
    return f"{task.job_id}/{task.attempt}.{task.role}-{task.index}.times"


async def with_times(
    pieces: AsyncIterator[Piece], reader: TimesReader, task: Task, cluster: str
) -> AsyncIterator[Piece]:
    """Pieces whose lines were begun at the same time, as far as that is known; each says when."""
    async for piece in pieces:
        times = await reader.times(task, cluster, piece.end)
        for part in timed(piece, times, _newest_ms(task)):
            yield part


async def until_offset(pieces: AsyncIterator[Piece], end: int) -> AsyncIterator[Piece]:
    """The pieces up to the end of the line that has the last byte before `end`."""
    async for piece in pieces:
        if piece.offset >= end:
            return
        yield piece if piece.end <= end else _cut(piece, end - piece.offset)
        if piece.end >= end:
            return


def timed(piece: Piece, times: LogTimes, newest_ms: int) -> Iterator[Piece]:
    """`newest_ms` is the time of bytes that are newer than the last mark."""
    while True:
        end = times.same_until(piece.offset)
        at_ms = times.written_at_ms(piece.offset)
        first = piece if end is None or end >= piece.end else _cut(piece, end - piece.offset)
        yield _with_time(first, newest_ms if at_ms is None else at_ms)
        if first.end >= piece.end:
            return
        text = piece.payload_text().encode()[first.end - piece.offset :].decode()
        piece = Piece.of(piece.task, first.end, piece.end, text)


def _cut(piece: Piece, length: int) -> Piece:
    """Its first lines, up to the one that has the last of so many bytes. A piece whose text is not what its bytes are
    stays whole."""
    data = piece.payload_text().encode()
    newline = data.find(b"\n", max(0, length - 1))
    if len(data) != piece.end - piece.offset or newline < 0 or newline + 1 == len(data):
        return piece
    return Piece.of(piece.task, piece.offset, piece.offset + newline + 1, data[: newline + 1].decode())


def _with_time(piece: Piece, at_ms: int) -> Piece:
    at = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    content = {**json.loads(piece.payload), "time": at}
    return Piece(piece.task, piece.offset, piece.end, json.dumps(content, ensure_ascii=False))


def _newest_ms(task: Task) -> int:
    return int((task.ended_at or time.time()) * 1000)


def _write(path: Path, times: LogTimes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(list(zip(times.at_ms, times.lengths, strict=True)), separators=(",", ":")))
    partial.replace(path)
