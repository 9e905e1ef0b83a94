"""The lines in which a task reports metrics: `{"step": 3, "time": 1700000000.5, "metrics": {"loss": 0.25}}`. A task may
have written anything; what is no such line, or has no place in the history, is left out."""

import json
from collections.abc import Iterator
from typing import Any

from muster.domain.experiments.job_metrics import MetricPoint, point_problems

LONGEST_LINE = 64 << 10
MARK = b"muster.metrics "
"""Where nobody collects the file of a task's metrics, its programs put this before such a line and print it."""


def whole_lines(data: bytes, *, is_last: bool) -> int:
    """The number of bytes up to the end of the last line that is complete. A line that is too long counts as complete,
    and so does the last one of a task that has ended."""
    if is_last:
        return len(data)
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    return end if end or len(data) < LONGEST_LINE else len(data)


def points_in(data: bytes, now: float) -> Iterator[MetricPoint]:
    """The points of all lines, in their order. Those without a time are of now."""
    for line in data.split(b"\n"):
        if 0 < len(line) <= LONGEST_LINE:
            yield from points_of_line(line, now)


def points_of_line(line: bytes, now: float) -> Iterator[MetricPoint]:
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(said, dict) or not isinstance(said.get("metrics"), dict):
        return
    step, at = said.get("step", 0), said.get("time", now)
    if not isinstance(step, int) or not isinstance(at, int | float):
        return
    for name, value in said["metrics"].items():
        if isinstance(value, int | float):
            point = MetricPoint(name, int(step), float(at), _number(value))
            if not point_problems(point, ""):
                yield point


def _number(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
