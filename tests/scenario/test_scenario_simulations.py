"""Simulations that people ask for: whose jobs they replay, how many there are, and how they end."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.domain.errors import Invalid, NotFound, TooMany, Unavailable
from muster.domain.nodes import NodeState
from muster.domain.simulations import Asked, AskedVariant, SimulationState
from muster.engine.requests import commands
from muster.engine.requests.simulated_nodes import gpus_of, nodes_of, with_more
from muster.engine.requests.simulations import Simulations
from muster.ports.simulating import SimulationPlan
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


@dataclass
class StandInSimulator:
    """Implements `ports.simulating.Simulator`: it ends when the test says so."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    plans: list[SimulationPlan] = field(default_factory=list)
    error: Exception | None = None
    cancelled: int = 0

    async def run(self, plan: SimulationPlan, progress: Callable[[float], None]) -> Mapping[str, Any]:
        self.plans.append(plan)
        progress(0.5)
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return {"at": [], "jobs": len(plan.jobs), "runs": []}


async def past_job(lab: Laboratory, name: str, owner: str = "amy") -> None:
    job, _ = await commands.submit(lab.context, a_spec(a_role(gpus=1), name=name), owner)
    await lab.becomes(job.id, "Running")
    lab.backend.end(f"{job.id}.1.worker.0")
    await lab.becomes(job.id, "Succeeded")


def asked(lab: Laboratory, **fields: Any) -> Asked:
    return Asked("lab", 0.0, lab.now + 1.0, fields.pop("variants", (AskedVariant("default"),)), **fields)


async def until_state(lab: Laboratory, simulations: Simulations, made: str, state: SimulationState) -> None:
    await lab.until(lambda: simulations.find(made).state is state)


@pytest.fixture
async def history(lab: Laboratory) -> Laboratory:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100", "A100")]
    lab.backend.tell_nodes()
    await past_job(lab, "one")
    await past_job(lab, "two", "bob")
    return lab


async def test_a_simulation_has_the_jobs_that_its_owner_may_see(history: Laboratory) -> None:
    simulator = StandInSimulator()
    simulator.may_end.set()
    simulations = Simulations(simulator)
    for sees_all, only_own, expected in ((True, False, 2), (True, True, 1), (False, False, 1)):
        made = await simulations.start(history.context, asked(history, only_own=only_own), "amy", sees_all=sees_all)
        await until_state(history, simulations, made.id, SimulationState.DONE)
        assert (len(simulator.plans[-1].jobs), simulations.find(made.id).jobs) == (expected, expected)
    kinds = [event.kind for event in await history.events()]
    assert kinds.count("audit.simulation.start") == 3


async def test_one_at_a_time_for_each_and_two_in_all(history: Laboratory) -> None:
    simulator = StandInSimulator()
    simulations = Simulations(simulator)
    first = await simulations.start(history.context, asked(history), "amy", sees_all=True)
    with pytest.raises(TooMany):
        await simulations.start(history.context, asked(history), "amy", sees_all=True)
    await simulations.start(history.context, asked(history), "bob", sees_all=True)
    with pytest.raises(Unavailable):
        await simulations.start(history.context, asked(history), "eve", sees_all=True)
    await history.until(lambda: len(simulator.plans) == 2)
    assert simulations.find(first.id).progress == 0.5
    await simulations.remove(history.context, first, "amy")
    assert simulator.cancelled == 1
    with pytest.raises(NotFound):
        simulations.find(first.id)
    await simulations.start(history.context, asked(history), "eve", sees_all=True)
    await simulations.aclose()
    assert simulator.cancelled >= 2


async def test_a_failure_is_told_and_old_results_are_forgotten(history: Laboratory) -> None:
    simulator = StandInSimulator(error=Unavailable("it took too long", hint="ask for less"))
    simulator.may_end.set()
    simulations = Simulations(simulator)
    for _ in range(12):
        made = await simulations.start(history.context, asked(history), "amy", sees_all=True)
        await until_state(history, simulations, made.id, SimulationState.FAILED)
    assert simulations.find(made.id).error == "it took too long; ask for less"
    assert len(simulations.visible("amy")) == 10
    assert simulations.visible("bob") == []


async def test_where_nothing_ran_there_is_nothing_to_replay(lab: Laboratory) -> None:
    simulations = Simulations(StandInSimulator())
    with pytest.raises(Invalid) as refused:
        await simulations.start(lab.context, asked(lab), "amy", sees_all=True)
    assert refused.value.problems[0].path == "since"
    assert simulations.visible(None) == []


def test_more_and_fewer_gpus_come_and_go_with_their_nodes() -> None:
    nodes = nodes_of([a_node(f"n{number}", 8, 32 * GIB, *["A100"] * 8) for number in range(3)])
    assert [(group.count, group.gpus, group.model) for group in nodes] == [(3, 8, "A100")]
    more = with_more(nodes, {"a100": 20})
    assert (gpus_of(more), [(group.count, group.gpus) for group in more]) == (44, [(3, 8), (2, 8), (1, 4)])
    assert {group.cpu_m for group in more} == {8000}
    assert gpus_of(with_more(nodes, {"H100": 16})) == 40
    fewer = with_more(nodes, {"A100": -10})
    assert sorted((group.count, group.gpus) for group in fewer) == [(1, 6), (1, 8)]
    with pytest.raises(Invalid):
        with_more(nodes, {"A100": -25})


def test_a_node_that_was_never_reached_is_left_out() -> None:
    assert nodes_of([a_node("n1", 0, 0, state=NodeState.JOINING)]) == []
