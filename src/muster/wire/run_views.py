"""Builds what the API answers about jobs as experiments."""

import math
from collections.abc import Mapping

from muster.api.experiments import BestOut, RunMetricOut, RunOut
from muster.domain.experiments.runs import BestOfGroup, Param, Run, RunMetric
from muster.domain.tracking import tracking_url
from muster.lib.clock import iso, optional_iso
from muster.wire.job_metric_views import metric_value


def run_view(
    run: Run, address: str, prices: Mapping[str, float | None], environment: Mapping[str, str] | None = None
) -> RunOut:
    """`address` is the one at which people reach the server, and `prices` those of a GPU hour on each cluster."""
    used, cost = run.used, run.cost(prices.get(run.cluster))
    return {
        "id": run.id,
        "name": run.name,
        "owner": run.owner,
        "cluster": run.cluster,
        "vc": run.vc,
        "state": run.state,
        "reason": run.reason,
        "submittedAt": iso(run.created_at),
        "startedAt": optional_iso(run.started_at),
        "endedAt": optional_iso(run.ended_at),
        "ranS": round(run.ran_s, 3),
        "gpuHours": round(run.gpu_hours, 6),
        "cost": None if cost is None else round(cost, 6),
        "peakMemoryBytes": None if used is None else used.peak_memory_bytes,
        "gpuPercent": None if used is None else used.gpu_percent,
        "energyJ": None if used is None else used.energy_j,
        "package": run.package,
        "commit": run.commit,
        "trackingUrl": tracking_url(address, run.id, run.tracking_url),
        "params": {name: param_value(value) for name, value in run.params.items()},
        "env": dict(run.env),
        "environment": dict(environment or {}),
        "tags": dict(run.tags),
        "metrics": {name: _metric(found) for name, found in run.metrics.items()},
    }


def best_view(found: BestOfGroup, best: Run, address: str, prices: Mapping[str, float | None]) -> BestOut:
    return {
        "group": None if found.group is None else param_value(found.group),
        "runs": found.runs,
        "value": found.value,
        "mean": found.mean,
        "best": run_view(best, address, prices),
    }


def param_value(value: Param) -> str | float | bool:
    return metric_value(value) if isinstance(value, float) and not math.isfinite(value) else value


def _metric(found: RunMetric) -> RunMetricOut:
    return {
        "count": found.points,
        "lastStep": found.last_step,
        "last": metric_value(found.last),
        "lowest": found.lowest,
        "highest": found.highest,
    }
