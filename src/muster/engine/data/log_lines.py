"""Reads logs by line number. The lines of a log are counted once, and then only those that have come since.

Positions in a log are the same while its task runs and once it is collected, so the count stays valid. It is made anew
if bytes of the log were dropped since, or if the log has become shorter.
"""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import Unavailable
from muster.domain.log_times import LogTimes
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.data.log_times import TimesReader
from muster.engine.data.logs import LogReader
from muster.lib.line_index import BLOCK_BYTES, LineIndex, newlines_of
from muster.ports.capabilities import LogChunk

SHOWN_BYTES = 16 << 10
"""How much of one line is shown."""
_PAGE_BYTES = 2 << 20
_COUNTED_BYTES = 1 << 20
_COUNTING_S = 5.0
_CACHED = 128


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `number` counts from 1, and `cut_bytes` is how much of it is not in the text."""

    number: int
    offset: int
    text: str
    at_ms: int | None = None
    cut_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LinePage:
    lines: list[Line] = field(default_factory=list)
    total: int = 0
    size_bytes: int = 0
    dropped_bytes: int = 0
    is_complete: bool = False
    """Whether the log will not grow any more."""


@dataclass(slots=True)
class _Counted:
    index: LineIndex = field(default_factory=LineIndex)
    dropped: DroppedBytes | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class LogLines:
    def __init__(self, context: Context, logs: LogReader) -> None:
        self._logs = logs
        self._times = TimesReader(context)
        self._counted: OrderedDict[str, _Counted] = OrderedDict()

    async def page(self, task: Task, cluster: str, first: int, count: int) -> LinePage:
        """Lines from the number `first` on; a negative one counts from the end, where -1 is the last line. There are
        fewer than `count` if they are long. Raises NotFound, Unreachable, and Unavailable if counting the lines took
        too long: the next call goes on with it."""
        counted = self._known(task)
        async with counted.lock:
            extent = await self._count(task, cluster, counted)
            index = counted.index
            skipped = max(0, index.lines + first) if first < 0 else max(0, first - 1)
            reading = _Reading(self._logs, task, cluster, index)
            lines = await reading.lines(skipped, min(count, index.lines - skipped))
            end = index.end
            total = index.lines
        times = await self._times.times(task, cluster, end)
        return LinePage(
            [_timed(line, times) for line in lines],
            total,
            extent.size,
            0 if extent.dropped is None else extent.dropped.length,
            extent.ended,
        )

    def _known(self, task: Task) -> _Counted:
        known = self._counted.setdefault(task.id, _Counted())
        self._counted.move_to_end(task.id)
        if len(self._counted) > _CACHED:
            self._counted.popitem(last=False)
        return known

    async def _count(self, task: Task, cluster: str, counted: _Counted) -> LogChunk:
        """Count what has come since. Returns an empty chunk at the end of the log."""
        index, deadline = counted.index, time.monotonic() + _COUNTING_S
        while True:
            chunk = await self._logs.chunk(task, cluster, index.end, _COUNTED_BYTES)
            if chunk.dropped != counted.dropped or chunk.size < index.end:
                counted.dropped = chunk.dropped
                index.cut_back(chunk.dropped.start if chunk.dropped is not None else 0)
            elif chunk.dropped is not None and chunk.dropped.contains(index.end):
                index.skip_to(chunk.dropped.end)
            elif chunk.data:
                blocks = await asyncio.to_thread(newlines_of, chunk.data)
                index.add(blocks, len(chunk.data), ends_with_newline=chunk.data.endswith(b"\n"))
            else:
                return chunk
            if time.monotonic() > deadline:
                done = f"{index.end * 100 // max(1, chunk.size)} %"
                raise Unavailable(f"the lines of this log are being counted ({done})", hint="ask again in a moment")


def _timed(line: Line, times: LogTimes) -> Line:
    return Line(line.number, line.offset, line.text, times.written_at_ms(line.offset), line.cut_bytes)


class _Reading:
    """Reads some lines of a log, as far as they were counted."""

    def __init__(self, logs: LogReader, task: Task, cluster: str, index: LineIndex) -> None:
        self._logs = logs
        self._task = task
        self._cluster = cluster
        self._index = index

    async def lines(self, skipped: int, count: int) -> list[Line]:
        if count <= 0:
            return []
        found: list[Line] = []
        read_bytes = 0
        offset = await self._start_of(skipped)
        line = _GrowingLine(skipped + 1, offset)
        while len(found) < count and read_bytes < _PAGE_BYTES and offset < self._index.end:
            data, after = await self._read(offset)
            if not data:
                break
            read_bytes += len(data)
            position = 0
            while position < len(data) and len(found) < count:
                newline = data.find(b"\n", position)
                if newline < 0:
                    line.append(data[position:])
                    break
                line.append(data[position:newline])
                position = newline + 1
                start = after if position == len(data) else offset + position
                found.append(line.ended(start - 1))
                line = _GrowingLine(line.number + 1, start)
            offset = self._end_of_long(line, after) if line.is_long else after
            if offset > after:
                line.skip()
        if len(found) < count and line.number == self._index.lines > self._index.newlines:
            found.append(line.ended(self._index.end))
        return found

    async def _start_of(self, skipped: int) -> int:
        """Where the line behind so many others begins."""
        if not skipped:
            return 0
        offset, before = self._index.block_with_newline(skipped)
        while True:
            data, after = await self._read(offset)
            newlines = data.count(b"\n")
            if not data or before + newlines >= skipped:
                break
            before += newlines
            offset = after
        position = -1
        for _ in range(skipped - before):
            position = data.find(b"\n", position + 1)
        return after if position + 1 == len(data) else offset + position + 1

    def _end_of_long(self, line: "_GrowingLine", offset: int) -> int:
        """Where to read on behind what is shown of a line: before its end. What is between is not read."""
        end = self._index.end
        if line.number <= self._index.newlines:
            end, _ = self._index.block_with_newline(line.number)
        return max(offset, end - SHOWN_BYTES)

    async def _read(self, offset: int) -> tuple[bytes, int]:
        """A block, and the offset behind it. In place of bytes that were dropped there is a line."""
        limit = min(BLOCK_BYTES, self._index.end - offset)
        chunk = await self._logs.chunk(self._task, self._cluster, offset, limit)
        if chunk.dropped is not None and chunk.dropped.contains(offset):
            return chunk.dropped.marker(offset).encode(), chunk.dropped.end
        return chunk.data, offset + len(chunk.data)


class _GrowingLine:
    """A line that is being read. Of a long one, its beginning and its end are kept."""

    def __init__(self, number: int, offset: int) -> None:
        self.number = number
        self._offset = offset
        self._beginning = b""
        self._ending = b""

    @property
    def is_long(self) -> bool:
        return len(self._beginning) >= SHOWN_BYTES

    def append(self, data: bytes) -> None:
        if not self.is_long:
            self._beginning = (self._beginning + data)[:SHOWN_BYTES]
        self._ending = (self._ending + data)[-SHOWN_BYTES:]

    def skip(self) -> None:
        """What comes next is not what follows in the line."""
        self._ending = b""

    def ended(self, end: int) -> Line:
        """Return the line that ends here. A long one is cut: to its last state if a program has overwritten it again
        and again, as a progress bar does, and else to its beginning."""
        size = end - self._offset
        is_cut = self.is_long and size > len(self._beginning)
        shown = self._ending if is_cut and b"\r" in self._ending else self._beginning
        cut_bytes = size - len(shown) if is_cut else 0
        return Line(self.number, self._offset, shown.decode("utf-8", "replace"), cut_bytes=cut_bytes)
