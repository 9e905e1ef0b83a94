"""Finds the lines with a text in the logs of a job's tasks, one task after the other.

The text is not a pattern: a pattern of a user could keep the server busy without end. A search reads so many bytes,
takes so long and finds so many lines at most, and says where to go on.
"""

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

from muster.domain.errors import Invalid, NotFound, Unreachable
from muster.domain.tasks import Task
from muster.engine.data.logs import LogReader

MOST_FOUND = 10_000
_MOST_BYTES = 512 << 20
_MOST_S = 3.0
_READ_BYTES = 1 << 20
_SHOWN_BYTES = 4 << 10
_BEFORE_BYTES = 1 << 10
"""How much of a long line is shown before what was found in it."""
_MOST_RANGES = 100
_CURSOR = re.compile(r"[0-9]{1,9}:[0-9]{1,18}:[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Needle:
    """What is searched for. Without `is_case_sensitive`, case does not matter."""

    text: str
    is_case_sensitive: bool = False

    @property
    def overlap_bytes(self) -> int:
        """A part of a line that ends with so many bytes less than it has may miss the text at its end."""
        return 4 * len(self.text)

    @property
    def _is_plain(self) -> bool:
        return self.is_case_sensitive or self.text.isascii()

    @property
    def _pattern(self) -> re.Pattern[str]:
        flags = 0 if self.is_case_sensitive else re.IGNORECASE | (re.ASCII if self.text.isascii() else 0)
        return re.compile(re.escape(self.text), flags)

    def ranges(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in islice(self._pattern.finditer(text), _MOST_RANGES)]

    def lines(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Where lines with the text begin and end, and where in them it is."""
        if self._is_plain:
            return self._by_bytes(data)
        return self._by_text(data)

    def _by_bytes(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        wanted = self.text.encode() if self.is_case_sensitive else self.text.encode().lower()
        searched = data if self.is_case_sensitive else data.lower()
        position = 0
        while (place := searched.find(wanted, position)) >= 0:
            start = data.rfind(b"\n", position, place) + 1 or position
            end = data.find(b"\n", place)
            end = len(data) if end < 0 else end
            yield start, end, place
            position = end + 1

    def _by_text(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        pattern, start = self._pattern, 0
        for line in data.split(b"\n"):
            text = line.decode("utf-8", "replace")
            if found := pattern.search(text):
                yield start, start + len(line), start + len(text[: found.start()].encode())
            start += len(line) + 1


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """How far a search has come: the task, the next byte, and how many lines are before it."""

    task: int = 0
    offset: int = 0
    lines: int = 0

    def __str__(self) -> str:
        return f"{self.task}:{self.offset}:{self.lines}"

    @classmethod
    def parse(cls, text: str) -> Self:
        if not _CURSOR.fullmatch(text):
            raise Invalid("this is not a cursor of a search", hint="take the nextCursor of the answer as it is")
        return cls(*map(int, text.split(":")))


@dataclass(frozen=True, slots=True)
class FoundLine:
    """`text` is the line, or of a long one what is around the first match; `ranges` count its characters."""

    task: Task
    number: int
    offset: int
    text: str
    ranges: list[tuple[int, int]]


@dataclass(slots=True)
class SearchResult:
    found: list[FoundLine] = field(default_factory=list)
    total: int = 0
    """How many lines have the text, with those beyond the limit."""
    searched_bytes: int = 0
    is_cut: bool = False
    """Whether there is more to search."""
    next_cursor: SearchCursor | None = None
    unread: list[Task] = field(default_factory=list)
    """Tasks whose nodes cannot be reached, and those whose logs were removed."""


async def search(
    logs: LogReader, tasks: Sequence[Task], cluster: str, needle: Needle, limit: int, cursor: SearchCursor
) -> SearchResult:
    """`limit` is how many lines are returned. Lines of the same task come together, in order."""
    searching = _Searching(needle, limit)
    for number, task in enumerate(tasks):
        if number < cursor.task or (task.log is None and task.started_at is None):
            continue
        start = cursor if number == cursor.task else SearchCursor(number)
        try:
            await searching.search(logs, task, cluster, start)
        except (NotFound, Unreachable):
            searching.result.unread.append(task)
        if searching.result.is_cut:
            break
    return searching.result


class _Searching:
    def __init__(self, needle: Needle, limit: int) -> None:
        self.result = SearchResult()
        self._needle = needle
        self._limit = limit
        self._deadline = time.monotonic() + _MOST_S

    async def search(self, logs: LogReader, task: Task, cluster: str, cursor: SearchCursor) -> None:
        """Whole lines are searched, but for very long ones, which are searched in parts that overlap."""
        rest = b""
        place = cursor
        while True:
            at = place.offset + len(rest)
            chunk = await logs.chunk(task, cluster, at, _READ_BYTES)
            dropped = chunk.dropped
            if dropped is not None and dropped.contains(at):
                await self._scan(task, rest, place)
                place, rest = SearchCursor(place.task, dropped.end, place.lines + 1), b""
                continue
            data = rest + chunk.data
            if not chunk.data:
                await self._scan(task, data, place)
                return
            scanned = whole = data.rfind(b"\n") + 1
            if not whole and len(data) > _READ_BYTES:
                scanned, whole = len(data), len(data) - self._needle.overlap_bytes
            newlines = await self._scan(task, data[:scanned], place)
            place = SearchCursor(place.task, place.offset + whole, place.lines + newlines)
            rest = data[whole:]
            if self._is_over():
                self.result.is_cut = True
                self.result.next_cursor = self.result.next_cursor or place
                return

    def _is_over(self) -> bool:
        result = self.result
        return result.total >= MOST_FOUND or result.searched_bytes >= _MOST_BYTES or time.monotonic() > self._deadline

    async def _scan(self, task: Task, data: bytes, place: SearchCursor) -> int:
        """Search whole lines. Returns how many there are."""
        self.result.searched_bytes += len(data)
        return await asyncio.to_thread(self._scan_now, task, data, place)

    def _scan_now(self, task: Task, data: bytes, place: SearchCursor) -> int:
        result, counted, newlines = self.result, 0, 0
        for start, end, match in self._needle.lines(data):
            newlines += data.count(b"\n", counted, start)
            counted = start
            result.total += 1
            if len(result.found) < self._limit:
                line = _shown(data, start, end, match)
                text = line.decode("utf-8", "replace")
                number, offset = place.lines + newlines + 1, place.offset + start
                result.found.append(FoundLine(task, number, offset, text, self._needle.ranges(text)))
            elif result.next_cursor is None:
                result.next_cursor = SearchCursor(place.task, place.offset + start, place.lines + newlines)
            if result.total >= MOST_FOUND:
                break
        return newlines + data.count(b"\n", counted)


def _shown(data: bytes, start: int, end: int, match: int) -> bytes:
    if end - start <= _SHOWN_BYTES:
        return data[start:end]
    first = max(start, match - _BEFORE_BYTES)
    return data[first : min(end, first + _SHOWN_BYTES)]
