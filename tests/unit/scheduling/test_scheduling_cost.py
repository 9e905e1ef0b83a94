"""The cost of a cycle, counted in tries to place a gang, not in seconds."""

import pytest

from muster.scheduling import state as state_module
from muster.scheduling.placement import place
from muster.scheduling.state import ClusterState
from tests.parts.building import GIB, a_node, a_role
from tests.unit.scheduling.test_scheduling_examples import a_demand

pytestmark = pytest.mark.fast
JOBS = 10_000


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks were placed in each try; the real `place` does the work."""
    counted: list[int] = []

    def counting(tasks, ledgers):  # type: ignore[no-untyped-def]
        counted.append(len(tasks))
        return place(tasks, ledgers)

    monkeypatch.setattr(state_module, "place", counting)
    return counted


def a_full_cluster() -> ClusterState:
    state = ClusterState("lab")
    state.node_changed(a_node("n1", 4, 32 * GIB, "A100"))
    state.queued(a_demand(0, a_role(cpu=3, gpus=1)))
    assert len(state.cycle(0.0).starts) == 1
    return state


def test_one_try_finds_that_ten_thousand_cpu_jobs_wait(tries: list[int]) -> None:
    state = a_full_cluster()
    for number in range(1, JOBS + 1):
        state.queued(a_demand(number, a_role(cpu=2)))
    tries.clear()
    plan = state.cycle(1.0)
    assert (len(plan.starts), len(tries)) == (0, 1)
    assert len(plan.waits) == 2


def test_jobs_behind_one_that_waits_for_gpus_are_not_tried(tries: list[int]) -> None:
    state = a_full_cluster()
    for number in range(1, JOBS + 1):
        state.queued(a_demand(number, a_role(cpu=0.1, gpus=1)))
    tries.clear()
    plan = state.cycle(1.0)
    assert (len(plan.starts), len(tries)) == (0, 1)
    assert len(plan.waits) <= 1000


def test_a_start_costs_one_try_each_and_one_more_to_know_that_it_is_full(tries: list[int]) -> None:
    state = a_full_cluster()
    for number in range(1, JOBS + 1):
        state.queued(a_demand(number, a_role(cpu=0.1)))
    tries.clear()
    assert len(state.cycle(1.0).starts) == 10
    assert len(tries) == 11
