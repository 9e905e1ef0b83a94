"""Builds what the API answers about what a task used over time."""

from collections.abc import Callable, Iterable, Sequence

from muster.api.job_usage import GpuHistoryOut, TaskHistoryOut
from muster.domain.tasks import Task
from muster.domain.usage.usage_series import Point, UsageSeries, gpu_values
from muster.lib.clock import iso


def task_history_view(task: Task, series: UsageSeries, most: int) -> TaskHistoryOut:
    points = series.points(most)
    gpus = [_gpu_view(index, place, points) for place, index in enumerate(series.gpus)]
    return {
        "task": task.name,
        "worker": f"{task.role}-{task.index}",
        "node": task.placement.node,
        "spanS": _span_s(series, points),
        "at": [iso(point.at) for point in points],
        "cpuPercent": _rounded(point.values[0] for point in points),
        "rssBytes": _rounded(point.values[1] for point in points),
        "gpuPercent": _together([gpu["percent"] for gpu in gpus], points, _mean),
        "gpuMemoryBytes": _together([gpu["memoryBytes"] for gpu in gpus], points, sum),
        "powerW": _together([gpu["powerW"] for gpu in gpus], points, sum),
        "gpus": gpus,
    }


def _gpu_view(index: int, place: int, points: Sequence[Point]) -> GpuHistoryOut:
    percent, memory, power = ([gpu_values(point, place)[which] for point in points] for which in range(3))
    return {"index": index, "percent": _rounded(percent), "memoryBytes": _rounded(memory), "powerW": _rounded(power)}


def _together(
    curves: Sequence[Sequence[float | None]], points: Sequence[Point], join: Callable[[Sequence[float]], float]
) -> list[float | None]:
    found = []
    for place in range(len(points)):
        known = [value for curve in curves if (value := curve[place]) is not None]
        found.append(join(known) if known else None)
    return _rounded(found)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _span_s(series: UsageSeries, points: Sequence[Point]) -> float:
    if len(points) < 2:
        return series.span_s
    return max(series.span_s, round((points[-1].at - points[0].at) / (len(points) - 1), 1))


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 1) for value in values]
