"""Masks the values of secrets in a log, by as many asterisks, so that every other byte keeps its position.

What is masked are the lines of the values, each without the white space around it. Lines of fewer than four bytes are
left alone: they would be found in every text. A part that is masked never contains the end of a line.
"""

from __future__ import annotations

import threading
from typing import Iterable, List, Sequence, Set

SHORTEST = 4
MOST_PARTS = 1000
"""Every part costs a search through all that is read of the log. Of more, the longest are masked."""
_STAR = b"*"


class Masks:
    def __init__(self, values: Iterable[bytes]) -> None:
        self._parts = _parts(values)
        longest = max((len(part) for part in self._parts), default=2)
        self.margin = longest - 1
        """How many bytes before and after a piece decide about what is masked in it."""
        self.lock = threading.Lock()
        """Held by who masks a file where it lies, and by who reads from it meanwhile."""

    def masked(self, data: bytes) -> bytes:
        """Masks every part that is found, also where parts overlap."""
        result = bytearray(data)
        for part in self._parts:
            at = data.find(part)
            while at >= 0:
                result[at : at + len(part)] = _STAR * len(part)
                at = data.find(part, at + 1)
        return bytes(result)

    def begun(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a part that is not written to its end yet."""
        tail = data[len(data) - self.margin :] if self.margin < len(data) else data
        tail = tail[tail.rfind(b"\n") + 1 :]
        return max((_begun(part, tail) for part in self._parts), default=0)

    def masked_to_end(self, data: bytes) -> bytes:
        """Masks data after which nothing will come, with a part at its end that was not written to its end."""
        begun = self.begun(data)
        masked = self.masked(data)
        return masked if begun < SHORTEST else masked[: len(masked) - begun] + _STAR * begun


def _parts(values: Iterable[bytes]) -> Sequence[bytes]:
    found: Set[bytes] = set()
    for value in values:
        found.update(line.strip() for line in value.splitlines())
    long_enough: List[bytes] = sorted((part for part in found if len(part) >= SHORTEST), key=len, reverse=True)
    return long_enough[:MOST_PARTS]


def _begun(part: bytes, tail: bytes) -> int:
    """The length of the longest end of `tail` that is a beginning of the part, but not all of it."""
    at = tail.find(part[:SHORTEST], max(0, len(tail) - len(part) + 1))
    while at >= 0:
        if part.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(part[:SHORTEST], at + 1)
    return next((length for length in range(SHORTEST - 1, 0, -1) if tail.endswith(part[:length])), 0)
