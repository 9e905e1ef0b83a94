"""The cost of a cycle, counted in tries to place a gang, not in seconds."""

import pytest

from muster.domain.specs import Priority
from muster.scheduling.capacity.placement import place
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.passes import guarantee_pass, open_pass, reclaim
from tests.parts.building import GIB, a_node, a_role
from tests.unit.scheduling.clusters import a_cluster, a_demand, a_gpu_node, gpus, queue, started

pytestmark = pytest.mark.fast
JOBS = 10_000


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks were placed in each try; the real `place` does the work."""
    counted: list[int] = []

    def counting(shape, *rest):  # type: ignore[no-untyped-def]
        counted.append(shape.tasks)
        return place(shape, *rest)

    for part in (guarantee_pass, open_pass, reclaim):
        monkeypatch.setattr(part, "place", counting)
    return counted


def a_full_cluster() -> ClusterState:
    state = a_cluster(a_node("n1", 4, 32 * GIB, "A100"))
    assert started(queue(state, a_demand(0, a_role(cpu=3, gpus=1)), at=0.0)) == ["j0"]
    return state


def test_one_try_finds_that_ten_thousand_cpu_jobs_wait(tries: list[int]) -> None:
    state = a_full_cluster()
    tries.clear()
    plan = queue(state, *(a_demand(number, a_role(cpu=2)) for number in range(1, JOBS + 1)), at=1.0)
    assert (len(plan.starts), len(tries)) == (0, 1)


def test_one_try_for_each_shape_finds_that_nothing_fits(tries: list[int]) -> None:
    state = a_full_cluster()
    tries.clear()
    plan = queue(state, *(a_demand(number, a_role(cpu=2 + number % 7)) for number in range(1, JOBS + 1)), at=1.0)
    assert (len(plan.starts), len(tries)) == (0, 7)


def test_a_start_costs_one_try_each_and_one_more_to_know_that_it_is_full(tries: list[int]) -> None:
    state = a_full_cluster()
    tries.clear()
    plan = queue(state, *(a_demand(number, a_role(cpu=0.1)) for number in range(1, JOBS + 1)), at=1.0)
    assert (len(plan.starts), len(tries)) == (10, 11)


def test_a_shape_that_did_not_fit_is_not_tried_again_until_something_is_free(tries: list[int]) -> None:
    state = a_cluster(a_gpu_node("n1", 4), a_gpu_node("n2", 4))
    queue(state, a_demand(1, gpus(4)), a_demand(2, gpus(4)), *(a_demand(n, gpus(2)) for n in range(3, 100)))
    tries.clear()
    queue(state, a_demand(100, gpus(2)), at=101.0)
    assert len(tries) == 0
    state.released("j1")
    assert len(started(state.cycle(102.0))) == 2
    assert len(tries) == 2


def test_nothing_is_computed_when_nothing_has_changed(tries: list[int]) -> None:
    state = a_full_cluster()
    queue(state, *(a_demand(number, gpus(1)) for number in range(1, 100)), at=1.0)
    tries.clear()
    computed = state.cycles
    for at in range(2, 50):
        assert state.cycle(float(at)).starts == ()
    assert (state.cycles, tries) == (computed, [])


def test_a_gang_is_not_tried_while_too_few_nodes_are_free_for_its_tasks(tries: list[int]) -> None:
    state = a_cluster(*(a_gpu_node(f"n{number}", 4) for number in range(1, 4)))
    queue(state, *(a_demand(number, gpus(4)) for number in range(1, 4)))
    queue(state, a_demand(4, a_role(gpus=4, replicas=2)), at=101.0)
    tries.clear()
    state.released("j1")
    assert started(state.cycle(102.0)) == []
    assert tries == []
    state.released("j2")
    assert started(state.cycle(103.0)) == ["j4"]
    assert tries == [2]


def test_a_rank_that_changes_costs_nothing_if_no_waiting_job_has_a_better_one() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    running = a_demand(1, gpus(1), checkpoint_every_s=0.0)
    plan = queue(state, running, a_demand(2, gpus(1), priority=Priority.LOW), at=10.0)
    assert started(plan) == ["j1"]
    computed, before = state.cycles, state.allocations.by_job["j1"].rank
    while state.allocations.by_job["j1"].rank <= before:
        assert plan.wake_at is not None
        plan = state.cycle(plan.wake_at)
    assert state.cycles == computed
