"""What one task used over time, in a bounded number of points.

A point is the mean over a time span. When there are too many points, neighbours are joined and the span is doubled, so
that the curve of a job keeps its shape and its size, however long the job runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST_SPAN_S = 5.0
MOST_POINTS = 360
_OF_TASK = 2
_OF_GPU = 3

Values = tuple[float | None, ...]
"""CPU in per cent of a core and memory in bytes; then load in per cent, memory in bytes and power in watts of each GPU.
None where nobody measured it."""


@dataclass(frozen=True, slots=True)
class Point:
    at: float
    values: Values


@dataclass(slots=True)
class UsageSeries:
    """`gpus` are the indices of the task's GPUs. Those figures are of the whole device, also if the task shares it."""

    gpus: tuple[int, ...] = ()
    most: int = MOST_POINTS
    span_s: float = FIRST_SPAN_S
    _ended: list[Point] = field(default_factory=list)
    _open: list[Point] = field(default_factory=list)
    """The samples of the span that has not ended yet."""

    def add(self, at: float, values: Values) -> None:
        """Samples come in the order of their times. One that does not is left out."""
        if len(values) != _OF_TASK + _OF_GPU * len(self.gpus):
            return
        if self._open and at < self._open[-1].at:
            return
        if self._open and at >= self._open[0].at + self.span_s:
            self._ended.append(_joined(self._open))
            self._open = []
        self._open.append(Point(at, values))
        if len(self._ended) >= self.most:
            self._ended = list(_thinned(self._ended, 2))
            self.span_s *= 2

    def points(self, most: int = MOST_POINTS) -> list[Point]:
        """The curve, the oldest point first, thinned out to so many points."""
        found = [*self._ended, _joined(self._open)] if self._open else list(self._ended)
        return list(_thinned(found, -(-len(found) // max(1, most)))) if len(found) > most else found

    def to_plain(self) -> dict[str, Any]:
        points = self.points(self.most + 1)
        return {
            "gpus": list(self.gpus),
            "most": self.most,
            "spanS": self.span_s,
            "at": [round(point.at, 1) for point in points],
            "values": [[None if one is None else round(one, 1) for one in point.values] for point in points],
        }

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> "UsageSeries":
        points = [Point(at, tuple(values)) for at, values in zip(plain["at"], plain["values"], strict=True)]
        return cls(tuple(plain["gpus"]), plain["most"], plain["spanS"], points)


def values_of(cpu_percent: float | None, rss_bytes: int | None, gpus: Sequence[Values]) -> Values:
    return (cpu_percent, rss_bytes, *(one for gpu in gpus for one in gpu))


def gpu_values(point: Point, place: int) -> Values:
    """Load, memory and power of the GPU at this place among the task's."""
    start = _OF_TASK + _OF_GPU * place
    return point.values[start : start + _OF_GPU]


def _thinned(points: Sequence[Point], step: int) -> Iterator[Point]:
    for start in range(0, len(points), step):
        yield _joined(points[start : start + step])


def _joined(points: Sequence[Point]) -> Point:
    if len(points) == 1:
        return points[0]
    columns = zip(*(point.values for point in points), strict=True)
    return Point(points[0].at, tuple(_mean([one for one in column if one is not None]) for column in columns))


def _mean(known: Sequence[float]) -> float | None:
    return sum(known) / len(known) if known else None
