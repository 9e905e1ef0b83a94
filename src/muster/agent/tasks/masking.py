"""Masks the values of secrets in a log, by as many asterisks, so that every other byte keeps its position.

What is masked are the lines of the values, each without the white space around it. Lines of fewer than four bytes are
left alone: they would be found in every text. A part that is masked never contains the end of a line.

A user chooses both the secrets and the log, and can choose them so that the search takes for ever. It therefore has a
limit of CPU time. If it is passed, everything in the log but the ends of lines is masked from then on.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Iterable, List, Sequence, Set

SHORTEST = 4
MOST_PARTS = 1000
"""Every part costs a search through all that is read of the log. Of more, the longest are masked."""
LONGEST = 1024
"""A longer line is masked in pieces, because the cost of finding the beginning of a part grows with its square."""
_SEARCH_S = 0.25
"""The CPU time in which a piece of 256 KiB must be searched for all parts. A usual one takes a tenth of that."""
_SEARCHED_BYTES = 256 * 1024
_STAR = b"*"
_TEXT = re.compile(rb"[^\n]+")


class Masks:
    def __init__(self, values: Iterable[bytes]) -> None:
        self._parts = _parts(values)
        self._masks_all = False
        longest = max((len(part) for part in self._parts), default=2)
        self.margin = longest - 1
        """How many bytes before and after a piece decide about what is masked in it."""
        self.lock = threading.Lock()
        """It is held by whoever masks a file where it lies, and by whoever reads from the file meanwhile."""

    def masked(self, data: bytes) -> bytes:
        """Masks every part that is found, also where parts overlap."""
        if not self._masks_all:
            try:
                return _masked(self._parts, data)
            except _TooLong:
                self._masks_all = True
        return _TEXT.sub(lambda found: _STAR * len(found.group()), data)

    def begun(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a part that is not written to its end yet."""
        if self._masks_all:
            return 0
        tail = data[len(data) - self.margin :] if self.margin < len(data) else data
        tail = tail[tail.rfind(b"\n") + 1 :]
        try:
            return _longest_begun(self._parts, tail)
        except _TooLong:
            self._masks_all = True
            return 0

    def masked_to_end(self, data: bytes) -> bytes:
        """Masks data after which nothing will come, with a part at its end that was not written to its end."""
        begun = self.begun(data)
        masked = self.masked(data)
        return masked if begun < SHORTEST else masked[: len(masked) - begun] + _STAR * begun


class _TooLong(Exception):
    """The search has taken more CPU time than it may."""


class _Limit:
    def __init__(self, size: int) -> None:
        self._until = time.thread_time() + _SEARCH_S * max(1.0, size / _SEARCHED_BYTES)

    def check(self) -> None:
        if time.thread_time() > self._until:
            raise _TooLong


def _masked(parts: Sequence[bytes], data: bytes) -> bytes:
    result, limit = bytearray(data), _Limit(len(data))
    for part in parts:
        limit.check()
        at, masked_to, found = data.find(part), 0, 0
        while at >= 0:
            begin, end = max(at, masked_to), at + len(part)
            result[begin:end] = _STAR * (end - begin)
            masked_to, found = end, found + 1
            if found % 1000 == 0:
                limit.check()
            at = data.find(part, at + 1)
    return bytes(result)


def _longest_begun(parts: Sequence[bytes], tail: bytes) -> int:
    longest, limit = 0, _Limit(len(tail))
    for part in parts:
        limit.check()
        longest = max(longest, _begun(part, tail))
    return longest


def _parts(values: Iterable[bytes]) -> Sequence[bytes]:
    found: Set[bytes] = set()
    for value in values:
        for line in value.splitlines():
            found.update(_pieces(line.strip()))
    long_enough: List[bytes] = sorted((part for part in found if len(part) >= SHORTEST), key=len, reverse=True)
    return long_enough[:MOST_PARTS]


def _pieces(line: bytes) -> Iterable[bytes]:
    """The last piece of a long line overlaps the one before, so that it is not left unmasked for being short."""
    if len(line) <= LONGEST:
        return [line]
    starts = [*range(0, len(line) - LONGEST, LONGEST), len(line) - LONGEST]
    return [line[start : start + LONGEST] for start in starts]


def _begun(part: bytes, tail: bytes) -> int:
    """The length of the longest end of `tail` that is a beginning of the part, but not all of it."""
    at = tail.find(part[:SHORTEST], max(0, len(tail) - len(part) + 1))
    while at >= 0:
        if part.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(part[:SHORTEST], at + 1)
    return next((length for length in range(SHORTEST - 1, 0, -1) if tail.endswith(part[:length])), 0)
