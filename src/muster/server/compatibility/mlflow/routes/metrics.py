"""The curves of metrics."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from muster.domain.errors import Invalid
from muster.domain.experiments.job_metrics import MetricPoint, thinned
from muster.server.compatibility.mlflow.callers import Caller, Who
from muster.server.compatibility.mlflow.errors import MlflowRoute
from muster.server.compatibility.mlflow.routes.experiments import page_start
from muster.server.compatibility.mlflow.views import metric_view

router = APIRouter(route_class=MlflowRoute)
_Text = Annotated[str, Query(max_length=1000)]
_MOST_RUNS = 100


@router.get("/metrics/get-history", name="mlflow_metric_history")
async def history(
    who: Who,
    metric_key: _Text,
    run_id: _Text = "",
    run_uuid: _Text = "",
    max_results: Annotated[int, Query(ge=1, le=50_000)] = 25_000,
    page_token: _Text = "",
) -> JSONResponse:
    points = await _points(who, run_id or run_uuid, metric_key)
    first = page_start(page_token)
    page = points[first : first + max_results]
    answer: dict[str, Any] = {"metrics": [metric_view(point) for point in page]}
    if first + len(page) < len(points):
        answer["next_page_token"] = str(first + len(page))
    return JSONResponse(answer)


@router.get("/metrics/get-history-bulk-interval", name="mlflow_metric_histories")
async def histories(
    who: Who,
    metric_key: _Text,
    run_ids: Annotated[list[_Text], Query()],
    start_step: int | None = None,
    end_step: int | None = None,
    max_results: Annotated[int, Query(ge=1, le=2500)] = 320,
) -> JSONResponse:
    """The curves of several runs, with so many points of each, evenly chosen."""
    if len(run_ids) > _MOST_RUNS:
        raise Invalid(f"at most {_MOST_RUNS} runs may be asked for at once")
    found: list[dict[str, Any]] = []
    for run_id in run_ids:
        points = [
            point
            for point in await _points(who, run_id, metric_key)
            if (start_step is None or point.step >= start_step) and (end_step is None or point.step <= end_step)
        ]
        found += [{**metric_view(point), "run_id": run_id} for point in thinned(points, max_results)]
    return JSONResponse({"metrics": found})


async def _points(who: Caller, run_id: str, name: str) -> list[MetricPoint]:
    """Those of the newest attempt that has reported it."""
    job = await who.run(run_id)
    store = who.parts.context.store
    attempts = [one.attempt for one in await store.metric_series([job.id], names=[name])]
    return await store.metric_points(job.id, max(attempts), name) if attempts else []
