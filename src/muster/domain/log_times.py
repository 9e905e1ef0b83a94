"""When the bytes of a log were written, as nearly as it is known: marks of a time and the length of the log then."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, slots=True)
class LogTimes:
    """The times, in milliseconds since 1970, and the lengths that the log had then. Both grow."""

    at_ms: Sequence[int] = field(default=())
    lengths: Sequence[int] = field(default=())

    @classmethod
    def of(cls, marks: Sequence[Sequence[int]]) -> Self:
        return cls([at_ms for at_ms, _ in marks], [length for _, length in marks])

    @property
    def known(self) -> int:
        """The number of bytes whose times are known."""
        return self.lengths[-1] if self.lengths else 0

    def written_at_ms(self, offset: int) -> int | None:
        """When this byte was there at the latest. None if that is not known."""
        place = bisect_right(self.lengths, offset)
        return self.at_ms[place] if place < len(self.at_ms) else None

    def same_until(self, offset: int) -> int | None:
        """The first offset behind this one that may have another time. None if there is no mark behind it."""
        place = bisect_right(self.lengths, offset)
        return self.lengths[place] if place < len(self.lengths) else None

    def since(self, at_ms: int) -> int:
        """The first offset that was not written before this time."""
        place = bisect_left(self.at_ms, at_ms)
        return self.lengths[place - 1] if place else 0

    def until(self, at_ms: int) -> int:
        """The first offset that was written after this time."""
        place = bisect_right(self.at_ms, at_ms)
        return self.lengths[place - 1] if place else 0
