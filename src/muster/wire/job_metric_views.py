"""Builds what the API answers about the metrics of a job."""

import math
from collections.abc import Sequence

from muster.api.job_metrics import ExtremeOut, MetricOut, MetricPointOut
from muster.domain.experiments.job_metrics import Extreme, MetricPoint, MetricSeries, thinned
from muster.lib.clock import iso


def metric_view(series: MetricSeries, points: Sequence[MetricPoint], most: int) -> MetricOut:
    return {
        "name": series.name,
        "count": series.points,
        "last": point_view(series.last),
        "lowest": _extreme(series.lowest),
        "highest": _extreme(series.highest),
        "points": [point_view(point) for point in thinned(points, most)],
    }


def point_view(point: MetricPoint) -> MetricPointOut:
    return {"step": point.step, "at": iso(point.at), "value": metric_value(point.value)}


def metric_value(value: float) -> float | str:
    """Writes a value as JSON has it, which knows no numbers that are not finite."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _extreme(found: Extreme | None) -> ExtremeOut | None:
    return None if found is None else {"step": found.step, "value": found.value}
