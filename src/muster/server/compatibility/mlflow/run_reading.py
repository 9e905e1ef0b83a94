"""Reads runs from the store as MLflow's clients ask for them."""

from collections.abc import Sequence
from typing import Any

from muster.domain.experiments.runs import Run
from muster.domain.jobs import Job
from muster.ports.store import JobFilter
from muster.server.compatibility.mlflow.callers import Caller
from muster.server.compatibility.mlflow.views import experiment_of, run_view


async def read_run(who: Caller, job: Job) -> Run:
    (found,) = await who.parts.context.store.whole_runs(JobFilter(ids=(job.id,)), limit=1)
    return found


async def whole_run(who: Caller, job: Job) -> dict[str, Any]:
    run = await read_run(who, job)
    (view,) = await run_views(who, [(run, experiment_of(run))])
    return view


async def run_views(who: Caller, runs: Sequence[tuple[Run, str]]) -> list[dict[str, Any]]:
    """Each run is given with its experiment."""
    series: dict[str, list[Any]] = {}
    for one in await who.parts.context.store.metric_series([run.id for run, _ in runs]):
        series.setdefault(one.job_id, []).append(one)
    is_task = who.only_job is not None
    return [run_view(run, experiment, series.get(run.id, ()), is_task=is_task) for run, experiment in runs]
