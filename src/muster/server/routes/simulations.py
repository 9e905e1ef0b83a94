"""Routes for simulations: one's own history under another policy, or with more GPUs."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from muster.api.simulations import SimulationList, SimulationOut
from muster.domain.errors import Invalid, NotFound, Problem
from muster.domain.simulations import Asked, AskedVariant, Simulation
from muster.engine.cluster_access import default_cluster, known_clusters, physical_cluster
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may, require
from muster.server.services import Services, authenticated, services
from muster.server.timestamps import instant
from muster.wire.requests import SimulationIn
from muster.wire.response_models import response_model
from muster.wire.simulation_views import simulation_detail, simulation_view

router = APIRouter(tags=["simulations"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_LONGEST_S = 366 * 86400.0


@router.post("/simulations", status_code=202, response_model=response_model(SimulationOut), summary="Replay past jobs")
async def start_simulation(body: SimulationIn, me: Me, parts: Parts) -> Response:
    """Replays the jobs of a cluster that were submitted in a window of time and have run, through the scheduler itself,
    once for each variant. Jobs that still run are replayed as if they ended now.
    It runs beside the server: ask for it by its id until it is done. Admins replay everybody's jobs, others those that
    they may see. One at a time for each user; the newest results are kept until the server restarts."""
    require(me, Action.CLUSTER_SEE)
    now = parts.context.clock()
    asked = Asked(
        cluster=_cluster(me, parts, body.cluster),
        since=instant("since", body.since, now) or 0.0,
        until=instant("until", body.until, now) or now,
        variants=tuple(AskedVariant(one.policy, one.title, one.more_gpus) for one in body.variants),
        only_own=body.only_own,
        durations=body.durations,
        preemption_cost=body.preemption_cost,
    )
    if not 0.0 < asked.until - asked.since <= _LONGEST_S:
        raise Invalid("the window is empty or longer than a year", hint="choose since and until")
    sees_all = may(me, Action.JOB_SEE, None, private=parts.private_jobs)
    made = await parts.simulations.start(parts.context, asked, me.name, sees_all=sees_all)
    return JSONResponse(simulation_detail(made), 202)


@router.get("/simulations", response_model=response_model(SimulationList), summary="List simulations")
async def list_simulations(me: Me, parts: Parts) -> Response:
    """List your own simulations; admins see everybody's."""
    found = parts.simulations.visible(None if me.is_admin else me.name)
    return JSONResponse(SimulationList(items=[simulation_view(one) for one in found]))


@router.get(
    "/simulations/{simulation_id}", response_model=response_model(SimulationOut), summary="One simulation, with curves"
)
async def get_simulation(simulation_id: str, me: Me, parts: Parts) -> Response:
    """Its progress, and when it is done its curves: what really happened first, then each variant."""
    return JSONResponse(simulation_detail(_found(me, parts, simulation_id)))


@router.delete("/simulations/{simulation_id}", status_code=204, summary="End and forget a simulation")
async def remove_simulation(simulation_id: str, me: Me, parts: Parts) -> None:
    await parts.simulations.remove(parts.context, _found(me, parts, simulation_id), me.name)


def _found(me: Principal, parts: Services, simulation_id: str) -> Simulation:
    """One of somebody else is refused with the same words as one that never was."""
    found = parts.simulations.find(simulation_id)
    if not may(me, Action.SIMULATION_SEE, found.owner, private=parts.private_jobs):
        raise NotFound(f"there is no simulation {simulation_id!r}", hint="the server keeps only the newest ones")
    return found


def _cluster(me: Principal, parts: Services, name: str | None) -> str:
    chosen = name or default_cluster(parts.context, me.user)
    if chosen is None:
        problem = Problem("cluster", "is missing", f"name one of {known_clusters(parts.context, me.user)}")
        raise Invalid("name the cluster whose jobs are replayed", problems=(problem,))
    return physical_cluster(parts.context, me.user, chosen)
