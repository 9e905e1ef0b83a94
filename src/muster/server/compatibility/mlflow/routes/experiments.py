"""Experiments: they are made, found, renamed, tagged, deleted and restored."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from muster.domain.errors import Invalid, NotFound
from muster.domain.experiments.experiments import DEFAULT_ID, DEFAULT_NAME, Experiment, default_experiment, tag_bytes
from muster.engine.requests import experiments
from muster.server.compatibility.mlflow import bodies
from muster.server.compatibility.mlflow.callers import Caller, Who
from muster.server.compatibility.mlflow.errors import MlflowRoute
from muster.server.compatibility.mlflow.experiment_filters import conditions, matching, orders
from muster.server.compatibility.mlflow.filters import Condition, Order
from muster.server.compatibility.mlflow.views import experiment_view
from muster.server.run_pages import MOST_BYTES

router = APIRouter(route_class=MlflowRoute)
_READ_AT_ONCE = 100
_EXPERIMENT_BYTES = 1000
"""About what an experiment has in an answer besides its tags."""
_Text = Annotated[str, Query(max_length=1000)]


@router.post("/experiments/create", name="mlflow_create_experiment")
async def create(body: bodies.NewExperiment, who: Who) -> JSONResponse:
    who.require_making()
    tags = {tag.key: tag.value for tag in body.tags}
    made = await experiments.create(who.parts.context, who.me.name, body.name, tags)
    return JSONResponse({"experiment_id": made.id})


@router.get("/experiments/get", name="mlflow_get_experiment")
async def get(who: Who, experiment_id: _Text) -> JSONResponse:
    who.require_reading()
    return JSONResponse({"experiment": experiment_view(await who.experiment(experiment_id))})


@router.get("/experiments/get-by-name", name="mlflow_get_experiment_by_name")
async def get_by_name(who: Who, experiment_name: _Text) -> JSONResponse:
    """A token of one job finds the experiment of its job under every name, so that a program may choose one and still
    reports to the run of its job."""
    who.require_reading()
    if who.only_job is not None:
        own, *_ = await who.experiments()
        return JSONResponse({"experiment": {**experiment_view(own), "name": experiment_name}})
    if experiment_name == DEFAULT_NAME:
        return JSONResponse({"experiment": experiment_view(default_experiment(who.me.name))})
    found = await who.parts.context.store.find_experiment(who.me.name, experiment_name)
    if found is None:
        raise NotFound(f"there is no experiment {experiment_name!r}")
    return JSONResponse({"experiment": experiment_view(found)})


@router.post("/experiments/search", name="mlflow_search_experiments")
async def search(who: Who, body: bodies.SearchedExperiments) -> JSONResponse:
    return JSONResponse(await _searched(who, body))


@router.get("/experiments/search", name="mlflow_search_experiments_by_get")
@router.get("/experiments/list", name="mlflow_list_experiments")
async def listed(who: Who, max_results: int = 1000, page_token: str | None = None) -> JSONResponse:
    """Answer clients older than MLflow 2."""
    asked = bodies.SearchedExperiments(max_results=min(max(max_results, 1), 50_000), page_token=page_token)
    return JSONResponse(await _searched(who, asked))


@router.post("/experiments/update", name="mlflow_update_experiment")
async def update(who: Who, body: bodies.RenamedExperiment) -> JSONResponse:
    known = await _own(who, body.experiment_id)
    if body.new_name is not None:
        await experiments.change(who.parts.context, known, name=body.new_name)
    return JSONResponse({})


@router.post("/experiments/delete", name="mlflow_delete_experiment")
async def delete(who: Who, body: bodies.OfExperiment) -> JSONResponse:
    await experiments.change(who.parts.context, await _own(who, body.experiment_id), is_deleted=True)
    return JSONResponse({})


@router.post("/experiments/restore", name="mlflow_restore_experiment")
async def restore(who: Who, body: bodies.OfExperiment) -> JSONResponse:
    await experiments.change(who.parts.context, await _own(who, body.experiment_id), is_deleted=False)
    return JSONResponse({})


@router.post("/experiments/set-experiment-tag", name="mlflow_set_experiment_tag")
async def set_tag(who: Who, body: bodies.ExperimentTag) -> JSONResponse:
    known = await _own(who, body.experiment_id)
    await experiments.change(who.parts.context, known, tags={**known.tags, body.key: body.value})
    return JSONResponse({})


async def _own(who: Caller, experiment_id: str) -> Experiment:
    who.require_making()
    if experiment_id == DEFAULT_ID:
        raise Invalid(f"the experiment {DEFAULT_NAME} cannot be changed", hint="make one of your own")
    return await who.experiment(experiment_id)


async def _searched(who: Caller, asked: bodies.SearchedExperiments) -> dict[str, Any]:
    who.require_reading()
    wanted, order = conditions(asked.filter), orders(asked.order_by)
    by: Sequence[Condition | Order] = [*wanted, *order]
    known = await who.experiments([one.name for one in by if one.kind == "tags"])
    found = await asyncio.to_thread(matching, known, wanted, order, asked.view_type)
    first = page_start(asked.page_token)
    page = await _whole(who, found[first : first + asked.max_results])
    more = first + len(page) < len(found)
    views = [experiment_view(one) for one in page]
    return {"experiments": views, **({"next_page_token": str(first + len(page))} if more else {})}


async def _whole(who: Caller, found: Sequence[Experiment]) -> list[Experiment]:
    """The first ones with all their tags, as many as fit into an answer. Nobody removes any meanwhile."""
    page: list[Experiment] = []
    room = MOST_BYTES
    for begin in range(0, len(found), _READ_AT_ONCE):
        batch = found[begin : begin + _READ_AT_ONCE]
        stored = await who.parts.context.store.experiments_by_ids([one.id for one in batch])
        known = {one.id: one for one in stored}
        for one in batch:
            whole = known.get(one.id, one)
            room -= tag_bytes(whole.tags) + _EXPERIMENT_BYTES
            if room < 0 and page:
                return page
            page.append(whole)
    return page


def page_start(token: str | None) -> int:
    if not token:
        return 0
    if not token.isascii() or not token.isdecimal() or len(token) > 12:
        raise Invalid("page_token is not one that was answered here")
    return int(token)
