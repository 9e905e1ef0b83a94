"""Routes for jobs as experiments: found by what they were given and what they reported, and compared. Users see their
own, admins all."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.experiments import BestsOut, RunsOut
from muster.domain.experiments.job_metrics import LONGEST_NAME
from muster.domain.experiments.runs import Goal, RunValues, Value, best_by, condition, matching
from muster.engine.requests.accounts import Principal
from muster.ports.store import JobFilter
from muster.server.access import Action
from muster.server.label_filters import label_filters
from muster.server.run_pages import read_runs, read_whole_runs
from muster.server.services import Services, authenticated, services
from muster.server.timestamps import instant
from muster.wire.response_models import response_model
from muster.wire.run_views import best_view, run_view

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_Word = Annotated[str | None, Query(max_length=256)]
_Text = Annotated[str, Query(max_length=LONGEST_NAME + 100)]
_Texts = Annotated[list[_Text] | None, Query(max_length=100)]
_Age = Annotated[str | None, Query(max_length=64, description="ISO time, or an age such as 30d.")]
MOST_RUNS = 20_000


class RunQuery:
    """Which runs are asked for. All conditions hold together."""

    def __init__(
        self,
        owner: _Word = None,
        cluster: _Word = None,
        state: _Word = None,
        text: Annotated[str | None, Query(max_length=256, description="A part of the name, owner or id.")] = None,
        label: Annotated[_Texts, Query(description="key=value; repeat for several.")] = None,
        sweep: Annotated[
            str | None, Query(max_length=256, description="Only members of it, by its name or id.")
        ] = None,
        since: _Age = None,
        until: _Age = None,
        param: Annotated[_Texts, Query(description="Conditions on parameters, such as lr<0.1 or opt=adam.")] = None,
        having: Annotated[_Texts, Query(description="Conditions on last values, such as acc>=0.9.")] = None,
    ) -> None:
        self.owner, self.cluster, self.state, self.text = owner, cluster, state, text
        self.since, self.until = since, until
        self.labels, self.sweep = label_filters(label or ()), sweep
        self.params = [condition(one) for one in param or ()]
        self.having = [condition(one) for one in having or ()]

    async def filter(self, me: Principal, parts: Services, ids: Sequence[str] = ()) -> JobFilter | None:
        """Returns None if jobs of others are asked for, of which users find none."""
        now = parts.context.clock()
        owner = me.name if self.owner == "me" or not me.is_admin else self.owner
        if not me.is_admin and self.owner not in (None, "me", me.name):
            return None
        return JobFilter(
            states=(self.state,) if self.state else (),
            owner=owner,
            cluster=self.cluster,
            text=self.text,
            labels=self.labels,
            sweep=await self._sweep_id(me, parts),
            created_after=instant("since", self.since, now),
            created_before=instant("until", self.until, now),
            ids=tuple(ids),
            leaves_out_deleted=not ids,
        )

    async def values(
        self,
        parts: Services,
        where: JobFilter,
        *,
        most: int = MOST_RUNS,
        metrics: Sequence[str] = (),
        params: Sequence[str] = (),
    ) -> tuple[list[RunValues], bool]:
        """What those that match are chosen by, newest first, and whether these are all. So many are needed at most."""
        most = MOST_RUNS if self.params or self.having else min(most, MOST_RUNS)
        found = await parts.context.store.run_values(
            where,
            limit=most,
            metrics=[*metrics, *(one.name for one in self.having)],
            params=[*params, *(one.name for one in self.params)],
        )
        return matching(found, self.params, self.having), len(found) < most

    def shown_metrics(self, names: Sequence[str]) -> list[str]:
        """Those that are shown: all if none is named."""
        return [*names, *(one.name for one in self.having)] if names else []

    async def _sweep_id(self, me: Principal, parts: Services) -> str | None:
        """Whose members a user may not read, of that sweep none is found."""
        if self.sweep is None:
            return None
        found = await parts.find_sweep(me, self.sweep)
        return self.sweep if found is None else found.id


Asked = Annotated[RunQuery, Depends()]


@router.get("/experiments", response_model=response_model(RunsOut), summary="Jobs as experiments")
async def list_runs(
    me: Me,
    parts: Parts,
    asked: Asked,
    job: Annotated[list[_Text] | None, Query(max_length=200, description="Only these jobs, by id or name.")] = None,
    metric: Annotated[_Texts, Query(description="Only these metrics; all if absent.")] = None,
    environment: Annotated[bool, Query(description="Whether to say what each ran in, which takes longer.")] = False,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = 100,
    cursor: Annotated[str, Query(pattern=r"^\d{1,6}$", description="The `nextCursor` of the page before.")] = "0",
) -> Response:
    """What jobs were given, reported and used, newest first. Jobs that are named come in their order, with their
    variables and environments; one that you may not read is refused. Runs that were deleted with MLflow's client come
    only if they are named. A page may have fewer than `limit`, because it has about 8 MiB at most."""
    named = [(await parts.find_job(me, ref, Action.JOB_READ)).id for ref in job or ()]
    where = await asked.filter(me, parts, named)
    if where is None:
        return JSONResponse(RunsOut(items=[], complete=True, nextCursor=None))
    first = int(cursor)
    with parts.bounds.run_searches.held(me.name):
        found, are_all = await asked.values(parts, where, most=first + limit + 1)
        ids = sorted((one.id for one in found), key=named.index) if named else [one.id for one in found]
        read = read_whole_runs if named else read_runs
        page = await read(parts.context.store, ids[first : first + limit], asked.shown_metrics(metric or ()))
        shown = [run.id for run in page.runs] if named or environment else []
        environments = await parts.context.store.run_environments(shown)
    is_complete = are_all and first + page.taken >= len(ids)
    following = str(first + page.taken) if first + page.taken < len(ids) else None
    now, prices = parts.context.clock(), parts.context.config.gpu_hour_prices
    address = parts.public_address
    items = [run_view(run.as_of(now), address, prices, environments.get(run.id)) for run in page.runs]
    return JSONResponse(RunsOut(items=items, complete=is_complete, nextCursor=following))


@router.get("/experiments/best", response_model=response_model(BestsOut), summary="The best jobs by a metric")
async def best_runs(
    me: Me,
    parts: Parts,
    asked: Asked,
    metric: Annotated[str, Query(min_length=1, max_length=LONGEST_NAME)],
    by: Annotated[str | None, Query(max_length=256, description="A parameter: the best of each value of it.")] = None,
    goal: Goal = Goal.MAX,
    use: Annotated[Value, Query(description="Whether the best or the last value of a job counts.")] = Value.BEST,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """The best jobs, or the best one for each value of a parameter, among those that match. The last ones are left
    out if the answer would have more than about 8 MiB."""
    where = await asked.filter(me, parts)
    if where is None:
        return JSONResponse(BestsOut(metric=metric, by=by, goal=str(goal), items=[]))
    with parts.bounds.run_searches.held(me.name):
        values, _ = await asked.values(parts, where, metrics=[metric], params=[by] if by else [])
        found = best_by(values, metric, by, goal, use)[:limit]
        page = await read_runs(parts.context.store, [one.best.id for one in found], asked.shown_metrics([metric]))
    runs = {run.id: run for run in page.runs}
    now, prices = parts.context.clock(), parts.context.config.gpu_hour_prices
    items = [
        best_view(one, runs[one.best.id].as_of(now), parts.public_address, prices)
        for one in found
        if one.best.id in runs  # it may have been deleted since, or the answer is full
    ]
    return JSONResponse(BestsOut(metric=metric, by=by, goal=str(goal), items=items))
