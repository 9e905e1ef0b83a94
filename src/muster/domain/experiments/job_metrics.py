"""Metrics that a training reports, such as its loss: points of named series, which belong to one attempt of a job.

A point is known by all that it says: its name, step, time and value. Whoever reports a point twice has reported it
once.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from muster.domain.errors import Problem

LONGEST_NAME = 250
MOST_STEP = (1 << 53) - 1
"""Steps are whole numbers that JSON carries exactly."""
_LAST_TIME = 253_402_300_799.0
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True)
class MetricLimits:
    """How much is kept of one job. What comes beyond the limits is left out of the curves, and counted."""

    names: int = 500
    """The most names of metrics in each attempt."""
    points: int = 200_000
    """The most points in all attempts together."""


@dataclass(frozen=True, slots=True)
class MetricPoint:
    name: str
    step: int
    at: float
    value: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.value)

    @property
    def key(self) -> tuple[int, float, str]:
        """What tells points of one series apart. NaN is not equal to itself, and its text is."""
        return self.step, self.at, repr(self.value + 0.0)  # which is the same for 0.0 and -0.0


@dataclass(frozen=True, slots=True)
class Extreme:
    step: int
    value: float


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """The summary of all points of a name in one attempt, also of those that are left out of the curve."""

    job_id: str
    attempt: int
    name: str
    points: int
    """How many points the curve has."""
    last: MetricPoint
    """The point with the highest step, or the newest of several."""
    lowest: Extreme | None = None
    """None if no value was finite."""
    highest: Extreme | None = None


@dataclass(frozen=True, slots=True)
class MetricCursor:
    """How far a source was read, such as the file into which a task writes its metrics. A batch moves it from one
    position to the next, and counts only where the source stands at the first."""

    source: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class MetricBatch:
    """Points that are stored together, or not at all."""

    job_id: str
    attempt: int
    points: Sequence[MetricPoint] = ()
    cursor: MetricCursor | None = None
    limits: MetricLimits = MetricLimits()
    summed: Sequence[MetricPoint] = ()
    """Further points, which count in the summaries only. Their times need not be known."""


def summed_up(job_id: str, attempt: int, points: Iterable[MetricPoint], known: MetricSeries | None) -> MetricSeries:
    """The summary with further points of the same name. It is the same if some of them were known before."""
    for point in points:
        if known is None:
            known = MetricSeries(job_id, attempt, point.name, 0, point)
        if (point.step, point.at) >= (known.last.step, known.last.at):
            known = replace(known, last=point)
        if point.is_finite:
            one = Extreme(point.step, point.value)
            if known.lowest is None or point.value < known.lowest.value:
                known = replace(known, lowest=one)
            if known.highest is None or point.value > known.highest.value:
                known = replace(known, highest=one)
    assert known is not None
    return known


def name_problem(name: str) -> str:
    """Why this cannot be the name of a metric; empty if it can."""
    if not name.strip():
        return "a metric needs a name"
    if len(name) > LONGEST_NAME:
        return f"the name of a metric has at most {LONGEST_NAME} characters"
    if not name.isprintable():
        return f"the name {name[:50]!r} has characters that cannot be printed"
    return ""


def point_problems(point: MetricPoint, path: str) -> list[Problem]:
    found: list[Problem] = []
    if problem := name_problem(point.name):
        found.append(Problem(f"{path}.name", problem))
    if abs(point.step) > MOST_STEP:
        found.append(Problem(f"{path}.step", f"a step is a whole number from -{MOST_STEP} to {MOST_STEP}"))
    if not 0.0 <= point.at <= _LAST_TIME:
        found.append(Problem(f"{path}.at", "this is not a time between 1970 and 9999"))
    return found


def thinned(points: Sequence[MetricPoint], most: int) -> list[MetricPoint]:
    """Returns at most this many points of a curve, evenly chosen, with the first and the last."""
    if len(points) <= most:
        return list(points)
    if most < 2:
        return list(points[-most:]) if most else []
    gaps = most - 1
    return [points[index * (len(points) - 1) // gaps] for index in range(most)]
