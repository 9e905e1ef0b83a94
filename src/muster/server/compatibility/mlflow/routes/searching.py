"""Runs that match a filter, in an order, page by page. Only what they are chosen by is read of all of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from muster.domain.errors import Invalid
from muster.domain.experiments.experiments import DEFAULT_ID, EXPERIMENT_LABEL
from muster.domain.experiments.runs import Run
from muster.domain.job_notes import DELETED
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
    RUN_NAME,
    STATUS,
    artifact_uri,
    ended,
    experiment_of,
    is_deleted,
    run_name,
    started,
)
from muster.server.run_pages import read_runs

router = APIRouter(route_class=MlflowRoute)
_MOST_RUNS = 20_000
_Found = tuple[Run, str]
"""A run and its experiment."""


@dataclass(frozen=True, slots=True)
class _Needed:
    """The names of what runs are chosen and sorted by."""

    metrics: Sequence[str]
    notes: Sequence[str]


@router.post("/runs/search", name="mlflow_search_runs")
async def search(body: bodies.SearchedRuns, who: Who) -> JSONResponse:
    """Without an order, the newest come first. Of each experiment, the newest 20,000 runs are searched. An answer ends
    after about 8 MiB, and its page token leads on."""
    who.require_reading()
    wanted, order = conditions(body.filter), orders(body.order_by)
    shown, needed = stages(body.run_view_type), _needed([*wanted, *order])
    first = page_start(body.page_token)
    with who.parts.bounds.run_searches.held(who.me.name):
        found: list[_Found] = []
        for experiment_id in dict.fromkeys(body.experiment_ids):
            found += [(run, experiment_id) for run in await _runs_in(who, experiment_id, needed)]
        kept = await asyncio.to_thread(_matching, found, wanted, order, shown)
        chosen = {run.id: experiment_id for run, experiment_id in kept[first : first + body.max_results]}
        page = await read_runs(who.parts.context.store, list(chosen))
        answer: dict[str, Any] = {"runs": await run_views(who, [(run, chosen[run.id]) for run in page.runs])}
    if first + page.taken < len(kept):
        answer["next_page_token"] = str(first + page.taken)
    return JSONResponse(answer)


def _needed(by: Sequence[Condition | Order]) -> _Needed:
    notes = [one.name for one in by if one.kind in ("params", "tags")]
    notes += [RUN_NAME] if any((one.kind, one.name) == ("attributes", "run_name") for one in by) else []
    return _Needed([one.name for one in by if one.kind == "metrics"], [*notes, DELETED])


async def _runs_in(who: Caller, experiment_id: str, needed: _Needed) -> list[Run]:
    if who.only_job is not None:
        job = await who.run(who.only_job)
        found = await who.parts.context.store.whole_runs(JobFilter(ids=(job.id,)), limit=1)
        return [run for run in found if experiment_of(run) == experiment_id]
    owner = who.owner
    if experiment_id != DEFAULT_ID:
        experiment = await who.experiment(experiment_id)
        owner = experiment.owner if owner is not None else None
    labels = ((EXPERIMENT_LABEL, experiment_id),)
    grouped = await _outlines(who, JobFilter(owner=owner, labels=labels, cluster=ELSEWHERE), needed)
    if experiment_id != DEFAULT_ID:
        return grouped
    jobs = await _outlines(who, JobFilter(owner=owner), needed)
    return [*grouped, *(run for run in jobs if run.cluster != ELSEWHERE)]


async def _outlines(who: Caller, where: JobFilter, needed: _Needed) -> list[Run]:
    store = who.parts.context.store
    return await store.run_outlines(where, limit=_MOST_RUNS, metrics=needed.metrics, notes=needed.notes)


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
