"""Where the lines of a long text are: the number of newlines before every block of it, so that any line is found by
reading one block. It grows with the text, and costs 16 bytes for each block."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

BLOCK_BYTES = 64 << 10


class LineIndex:
    def __init__(self) -> None:
        self._offsets = array("Q", [0])
        self._newlines = array("Q", [0])
        self._can_grow = False
        self._ends_with_newline = True

    @property
    def end(self) -> int:
        """The number of bytes that were counted."""
        return self._offsets[-1]

    @property
    def newlines(self) -> int:
        return self._newlines[-1]

    @property
    def lines(self) -> int:
        """The number of lines, with a last one that no newline ends."""
        return self.newlines + (not self._ends_with_newline)

    def add(self, blocks: list[int], length: int, *, ends_with_newline: bool) -> None:
        """The next `length` bytes, with the number of newlines in each block of them; see `newlines_of`. A short block
        at the end is joined with what comes next, so that text that comes in small pieces needs no more blocks."""
        if not length:
            return
        start = self.end
        for number, newlines in enumerate(blocks, 1):
            self._append(min(start + number * BLOCK_BYTES, start + length), newlines)
        self._can_grow = True
        self._ends_with_newline = ends_with_newline

    def skip_to(self, offset: int) -> None:
        """Bytes that are not there, and for which a reader gets one line instead."""
        self._can_grow = False
        self._append(offset, 1)
        self._ends_with_newline = True

    def cut_back(self, offset: int) -> None:
        """Forget all blocks that end behind this offset. Text must be added again before `lines` is right."""
        kept = max(1, bisect_right(self._offsets, offset))
        del self._offsets[kept:], self._newlines[kept:]
        self._can_grow = False
        self._ends_with_newline = True

    def block_with_newline(self, number: int) -> tuple[int, int]:
        """The offset of the block that has the newline with this number, counted from 1, and how many come before it.
        There must be so many."""
        place = bisect_left(self._newlines, number) - 1
        return self._offsets[place], self._newlines[place]

    def _append(self, end: int, newlines: int) -> None:
        total = self.newlines + newlines
        if self._can_grow and end - self._offsets[-2] <= BLOCK_BYTES:
            self._offsets[-1], self._newlines[-1] = end, total
        else:
            self._offsets.append(end)
            self._newlines.append(total)


def newlines_of(data: bytes) -> list[int]:
    """The number of newlines in each block."""
    return list(_counts(data))


def _counts(data: bytes) -> Iterator[int]:
    for start in range(0, len(data), BLOCK_BYTES):
        yield data.count(b"\n", start, start + BLOCK_BYTES)
