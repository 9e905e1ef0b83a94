"""Simulations in answers."""

from collections.abc import Mapping
from typing import Any, cast

from muster.api.simulations import AskedOut, SimulationOut, SimulationResult
from muster.domain.simulations import Asked, Simulation
from muster.lib.clock import iso, optional_iso


def simulation_view(simulation: Simulation) -> SimulationOut:
    """Describes a simulation without its result."""
    return {
        "id": simulation.id,
        "owner": simulation.owner,
        "state": cast("Any", str(simulation.state)),
        "progress": round(simulation.progress, 3),
        "createdAt": iso(simulation.created_at),
        "endedAt": optional_iso(simulation.ended_at),
        "error": simulation.error,
        "jobs": simulation.jobs,
        "running": simulation.running,
        "isCut": simulation.is_cut,
        "asked": _asked_view(simulation.asked),
    }


def simulation_detail(simulation: Simulation) -> SimulationOut:
    result = None if simulation.result is None else _result_view(simulation.result)
    return {**simulation_view(simulation), "result": result}


def _result_view(result: Mapping[str, Any]) -> SimulationResult:
    return {"at": [iso(at) for at in result["at"]], "jobs": result["jobs"], "runs": result["runs"]}


def _asked_view(asked: Asked) -> AskedOut:
    return {
        "cluster": asked.cluster,
        "since": iso(asked.since),
        "until": iso(asked.until),
        "onlyOwn": asked.only_own,
        "durations": asked.durations,
        "preemptionCost": asked.preemption_cost,
        "variants": [
            {"policy": one.policy, "title": one.title, "moreGpus": dict(one.more_gpus)} for one in asked.variants
        ],
    }
