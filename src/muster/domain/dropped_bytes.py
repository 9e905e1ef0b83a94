"""The bytes that were dropped from the middle of a log, because it was longer than its limit.

Positions in a log count all bytes that were ever written to it. A collected log is a file without the dropped bytes,
whose name says which those are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from muster.lib.quantities import about_bytes

_HEAD_BYTES = 1 << 20
_IN_NAME = re.compile(r"~(\d+)-(\d+)\.log")


@dataclass(frozen=True, slots=True)
class DroppedBytes:
    """The bytes from `start` up to but not including `end`."""

    start: int
    end: int

    @classmethod
    def reported(cls, found: Sequence[int] | None) -> Self | None:
        """What an agent has said. Agents of earlier versions drop nothing."""
        return None if found is None else cls(int(found[0]), int(found[1]))

    @classmethod
    def of_file(cls, name: str) -> Self | None:
        """What the name of a collected log says."""
        match = _IN_NAME.search(name)
        return None if match is None else cls(int(match[1]), int(match[2]))

    @classmethod
    def beyond(cls, most: int, size: int, missing: Self | None) -> Self | None:
        """What is left out of a log of this size so that `most` bytes of it are kept; `missing` if they are no more."""
        if size - (missing.length if missing else 0) <= most:
            return missing
        start = min(_HEAD_BYTES, most // 4)
        if missing is not None:
            start = min(start, missing.start)
        return cls(start, max(size - (most - start), missing.end if missing else 0))

    @property
    def length(self) -> int:
        return self.end - self.start

    def marker(self, offset: int) -> str:
        """The line that a reader gets in place of the dropped bytes from `offset` on."""
        size = about_bytes(self.end - offset)
        return f"[muster: {size} of this log were dropped here; its beginning and its end are kept]\n"

    def contains(self, offset: int) -> bool:
        return self.start <= offset < self.end

    def position_in_file(self, offset: int) -> int:
        """Where a byte of the log is in the file without the dropped ones."""
        return offset if offset <= self.start else max(offset - self.length, self.start)

    def offset_in_log(self, position: int) -> int:
        """Which byte of the log is at this position of the file without the dropped ones."""
        return position if position < self.start else position + self.length

    def file_name(self, name: str) -> str:
        return f"{name.removesuffix('.log')}~{self.start}-{self.end}.log"
