"""Runs that match a filter, in an order, page by page."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from muster.domain.errors import Invalid
from muster.domain.experiments.experiments import DEFAULT_ID, EXPERIMENT_LABEL
from muster.domain.experiments.runs import Run
from muster.domain.jobs import ELSEWHERE
from muster.ports.store import JobFilter
from muster.server.compatibility.mlflow import bodies
from muster.server.compatibility.mlflow.callers import Caller, Who
from muster.server.compatibility.mlflow.errors import MlflowRoute
from muster.server.compatibility.mlflow.experiment_filters import stages
from muster.server.compatibility.mlflow.filters import Condition, Order, Value, conditions, orders
from muster.server.compatibility.mlflow.routes.experiments import page_start
from muster.server.compatibility.mlflow.run_reading import run_views
from muster.server.compatibility.mlflow.views import (
    STATUS,
    artifact_uri,
    ended,
    experiment_of,
    is_deleted,
    run_name,
    started,
)

router = APIRouter(route_class=MlflowRoute)
_MOST_RUNS = 20_000
MOST_BYTES = 8 << 20
"""An answer ends about here, and its page token leads on."""
_RUN_BYTES, _METRIC_BYTES, _NOTE_BYTES = 1000, 150, 20
"""About what a run has besides its notes, a metric besides its name, and a note besides name and value."""
_Found = tuple[Run, str]
"""A run and its experiment."""


@router.post("/runs/search", name="mlflow_search_runs")
async def search(body: bodies.SearchedRuns, who: Who) -> JSONResponse:
    """Without an order, the newest come first. Of each experiment, the newest 20,000 runs are searched."""
    who.require_reading()
    wanted, order = conditions(body.filter), orders(body.order_by)
    shown = stages(body.run_view_type)
    found: list[_Found] = []
    for experiment_id in dict.fromkeys(body.experiment_ids):
        found += [(run, experiment_id) for run in await _runs_in(who, experiment_id)]
    kept = await asyncio.to_thread(_matching, found, wanted, order, shown)
    first = page_start(body.page_token)
    page = await asyncio.to_thread(fitting, kept[first : first + body.max_results], MOST_BYTES)
    answer: dict[str, Any] = {"runs": await run_views(who, page)}
    if first + len(page) < len(kept):
        answer["next_page_token"] = str(first + len(page))
    return JSONResponse(answer)


async def _runs_in(who: Caller, experiment_id: str) -> list[Run]:
    store = who.parts.context.store
    if who.only_job is not None:
        job = await who.run(who.only_job)
        found = await store.whole_runs(JobFilter(ids=(job.id,)), limit=1)
        return [run for run in found if experiment_of(run) == experiment_id]
    owner = who.owner
    if experiment_id != DEFAULT_ID:
        experiment = await who.experiment(experiment_id)
        owner = experiment.owner if owner is not None else None
    labels = ((EXPERIMENT_LABEL, experiment_id),)
    grouped = await store.runs(JobFilter(owner=owner, labels=labels, cluster=ELSEWHERE), limit=_MOST_RUNS)
    if experiment_id != DEFAULT_ID:
        return grouped
    jobs = await store.runs(JobFilter(owner=owner), limit=_MOST_RUNS)
    return [*grouped, *(run for run in jobs if run.cluster != ELSEWHERE)]


def _matching(
    found: Sequence[_Found], wanted: Sequence[Condition], order: Sequence[Order], shown: Sequence[bool]
) -> list[_Found]:
    """Those that match, in their order. Raises Invalid."""
    kept = [
        one
        for one in found
        if is_deleted(one[0]) in shown and all(each.holds(_value(one[0], each.kind, each.name)) for each in wanted)
    ]
    return _sorted(kept, order)


def fitting(found: Sequence[_Found], most_bytes: int) -> Sequence[_Found]:
    """The first ones, as many as fit into an answer; one at least."""
    size = 0
    for place, (run, _) in enumerate(found):
        size += len(json.dumps([run.params, run.tags, list(run.metrics)])) + _RUN_BYTES
        size += len(run.metrics) * _METRIC_BYTES + (len(run.params) + len(run.tags)) * _NOTE_BYTES
        if place and size > most_bytes:
            return found[:place]
    return found


def _sorted(found: Sequence[_Found], order: Sequence[Order]) -> list[_Found]:
    """Runs that do not have what they are sorted by come last in either direction."""
    kept = sorted(found, key=lambda one: (-started(one[0]), one[0].id))
    for by in reversed(order):
        with_it: list[tuple[Value, _Found]] = []
        without: list[_Found] = []
        for one in kept:
            value = _value(one[0], by.kind, by.name)
            if value is None or value != value:  # NaN is equal to nothing
                without.append(one)
            else:
                with_it.append((value, one))
        with_it.sort(key=lambda pair: _rank(pair[0]), reverse=by.is_descending)
        kept = [*(one for _, one in with_it), *without]
    return kept


def _rank(value: Value) -> tuple[bool, float, str]:
    return (True, 0.0, value) if isinstance(value, str) else (False, value or 0.0, "")


def _value(run: Run, kind: str, name: str) -> Value:
    match kind:
        case "metrics":
            found = run.metrics.get(name)
            return None if found is None else found.last
        case "params":
            return None if name not in run.params else str(run.params[name])
        case "tags":
            return run.tags.get(name)
        case _:
            return _attribute(run, name)


def _attribute(run: Run, name: str) -> Value:
    match name:
        case "run_id":
            return run.id
        case "run_name":
            return run_name(run)
        case "status":
            return STATUS[run.state]
        case "user_id":
            return run.owner
        case "start_time":
            return started(run)
        case "end_time":
            return ended(run)
        case "artifact_uri":
            return artifact_uri(run, is_task=False)
        case _:
            raise Invalid(f"{name!r} is not an attribute of a run")
