"""Moments at which something changes by itself, without an event."""

from collections.abc import Iterator
from enum import StrEnum
from heapq import heappop, heappush
from itertools import count


class Timer(StrEnum):
    DUE = "due"
    """A job that was not to start before now may start."""
    AGING = "aging"
    """A waiting job may count as one priority higher."""
    RANK = "rank"
    """The rank of a running job may change."""
    PROTECTION = "protection"
    """A running job that had waited long loses its protection."""
    LIMIT = "limit"
    """GPU hours that were used a week ago no longer count."""


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer, str]] = []
        self._stamp = count()

    @property
    def next_at(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def add(self, at: float, timer: Timer, job_id: str = "") -> None:
        heappush(self._heap, (at, next(self._stamp), timer, job_id))

    def is_due(self, now: float) -> bool:
        return bool(self._heap) and self._heap[0][0] <= now

    def due(self, now: float) -> Iterator[tuple[float, Timer, str]]:
        """Remove and return what is due, in order; also what is added meanwhile."""
        while self._heap and self._heap[0][0] <= now:
            at, _, timer, job_id = heappop(self._heap)
            yield at, timer, job_id
