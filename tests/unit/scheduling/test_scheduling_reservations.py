"""The reservation of the job that is next: kept from cycle to cycle, and worked out anew when that may be better."""

import pytest

from muster.domain.schedule import Reserved
from muster.scheduling.allocations import reservations
from muster.scheduling.capacity.placement import place
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.ordering.order_policies import Overtaking, Policy
from muster.scheduling.ordering.ranking import Arrival
from tests.unit.scheduling.clusters import a_cluster, a_demand, a_gpu_node, gpus, queue, started

pytestmark = pytest.mark.fast


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks were placed in each try to reserve; the real `place` does the work."""
    counted: list[int] = []

    def counting(shape, *rest):  # type: ignore[no-untyped-def]
        counted.append(shape.tasks)
        return place(shape, *rest)

    monkeypatch.setattr(reservations, "place", counting)
    return counted


def a_head_that_waits() -> ClusterState:
    """Two jobs run until 200 and 300 at the latest, and one that wants the whole node waits behind them."""
    state = a_cluster(a_gpu_node("n1", 4))
    state.follow(Policy("easy", Arrival(), Overtaking.RESERVED))
    running = [a_demand(1, gpus(2), time_limit_s=100.0), a_demand(2, gpus(2), time_limit_s=200.0)]
    assert started(queue(state, *running, a_demand(3, gpus(4)), at=100.0)) == ["j1", "j2"]
    return state


def reserved_at(state: ClusterState) -> float | None:
    return None if state.reservations.current is None else state.reservations.current.at


def test_what_is_reserved_for_whom_can_be_shown() -> None:
    state = a_head_that_waits()
    assert state.reserved() == [Reserved("j3", 300.0, ("n1",))]
    state.unqueued("j3")
    assert state.reserved() == []


def test_it_is_not_worked_out_again_while_jobs_end_on_time(tries: list[int]) -> None:
    state = a_head_that_waits()
    assert reserved_at(state) == 300.0
    tries.clear()

    queue(state, a_demand(4, gpus(4)), at=150.0)
    state.released("j1")
    plan = queue(state, a_demand(5, gpus(2), time_limit_s=100.0), at=200.0)

    assert started(plan) == ["j5"]
    assert (reserved_at(state), tries) == (300.0, [])


def test_what_starts_meanwhile_counts_against_it() -> None:
    state = a_head_that_waits()
    state.released("j1")
    assert started(queue(state, a_demand(4, gpus(1)), at=200.0)) == []
    assert started(queue(state, a_demand(5, gpus(1), time_limit_s=100.0), at=200.0)) == ["j5"]


def test_it_comes_earlier_when_a_job_ends_early() -> None:
    state = a_head_that_waits()
    state.released("j2")
    state.cycle(150.0)
    assert reserved_at(state) == 200.0


def test_it_is_worked_out_anew_when_the_nodes_change() -> None:
    state = a_head_that_waits()
    state.node_changed(a_gpu_node("n2", 2))
    state.cycle(150.0)
    assert started(queue(state, a_demand(4, gpus(2)), at=151.0)) == ["j4"]


def test_it_is_the_next_job_s_when_the_first_is_killed() -> None:
    state = a_head_that_waits()
    queue(state, a_demand(4, gpus(3)), at=150.0)
    state.unqueued("j3")
    state.cycle(151.0)
    assert state.reservations.current is not None
    assert state.reservations.current.job.job_id == "j4"
