"""Who has to leave for whom, and when the places are another's."""

import pytest

from muster.domain.specs import Priority
from muster.domain.virtual_clusters import OrderPolicy
from muster.scheduling.cluster_state import ClusterState
from tests.parts.building import a_role
from tests.unit.scheduling.clusters import (
    a_cluster,
    a_demand,
    a_gpu_node,
    a_vc,
    codes,
    gpus,
    message,
    nodes_of,
    places,
    preempted,
    queue,
    started,
)

pytestmark = pytest.mark.fast
LOW, HIGH = Priority.LOW, Priority.HIGH


def run_in_turn(state: ClusterState, *demands: object, at: tuple[float, ...] = (10.0, 20.0, 30.0, 40.0)) -> None:
    """Each starts at its own moment."""
    for demand, moment in zip(demands, at, strict=False):
        assert started(queue(state, demand, at=moment)), demand  # type: ignore[arg-type]


def test_a_higher_priority_takes_the_places_of_a_lower_one() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1), priority=LOW))
    plan = queue(state, a_demand(2, gpus(1), priority=HIGH), at=200.0)
    assert (started(plan), preempted(plan)) == ([], ["j1"])
    reason = plan.preemptions[0].reason
    assert (reason.code, reason.message) == ("preempted", "was preempted by job-2")


def test_the_start_waits_until_the_leaver_has_gone() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1), priority=LOW))
    queue(state, a_demand(2, gpus(1), priority=HIGH), at=200.0)
    assert codes(state, "j2") == ["being-left"]
    assert message(state, "j2") == "its resources are assigned; job-1 is still stopping there"
    assert started(state.cycle(205.0)) == []
    state.released("j1")
    assert started(state.cycle(210.0)) == ["j2"]
    assert state.used("n1")[2] == {0: ["j2"]}


def test_cpu_that_many_small_leavers_still_have_is_waited_for() -> None:
    state = a_cluster(a_gpu_node("n1", 0, cpu=4))
    queue(state, *(a_demand(number, a_role(), priority=LOW) for number in range(1, 5)))
    plan = queue(state, a_demand(5, a_role(cpu=2), priority=HIGH), at=200.0)
    first, second = preempted(plan)
    state.released(first)
    assert started(state.cycle(201.0)) == []
    state.released(second)
    assert started(state.cycle(202.0)) == ["j5"]


@pytest.mark.parametrize("gone_first", [False, True])
def test_a_job_killed_while_it_waits_for_leavers_frees_its_claim(gone_first: bool) -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1), priority=LOW))
    queue(state, a_demand(2, gpus(1), priority=HIGH), at=200.0)
    if gone_first:
        state.released("j1")
        state.unqueued("j2")
    else:
        state.unqueued("j2")
        state.released("j1")
    assert started(queue(state, a_demand(3, gpus(1)), at=210.0)) == ["j3"]
    assert state.waiting == 0


def test_only_whole_gangs_leave() -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 2))
    queue(state, a_demand(1, gpus(2, 2), priority=LOW))
    plan = queue(state, a_demand(2, gpus(1), priority=HIGH), at=200.0)
    assert preempted(plan) == ["j1"]
    state.released("j1")
    assert state.used("n1")[2] | state.used("n2")[2] == {0: ["j2"]}
    assert state.cycle(201.0).starts[0].job_id == "j2"


def test_the_choice_loses_least_work() -> None:
    """job-2 has run for the shortest time."""
    state = a_cluster(a_gpu_node("n1", 1), a_gpu_node("n2", 1), a_gpu_node("n3", 1))
    run_in_turn(state, *(a_demand(number, gpus(1), priority=LOW) for number in (1, 3, 2)))
    assert preempted(queue(state, a_demand(4, gpus(1), priority=HIGH), at=200.0)) == ["j2"]


def test_a_checkpoint_changes_the_choice() -> None:
    state = a_cluster(a_gpu_node("n1", 1), a_gpu_node("n2", 1), a_gpu_node("n3", 1))
    run_in_turn(state, *(a_demand(number, gpus(1), priority=LOW) for number in (1, 3, 2)))
    state.checkpointed("j1", 195.0)
    assert preempted(queue(state, a_demand(4, gpus(1), priority=HIGH), at=200.0)) == ["j1"]


def test_a_large_gang_loses_more_than_a_small_one_that_ran_as_long() -> None:
    state = a_cluster(a_gpu_node("n1", 4), a_gpu_node("n2", 4))
    run_in_turn(state, a_demand(1, gpus(4), priority=LOW), at=(10.0,))
    queue(state, a_demand(2, gpus(2), priority=LOW), a_demand(3, gpus(2), priority=LOW), at=10.0)
    assert len(preempted(queue(state, a_demand(4, gpus(2), priority=HIGH), at=200.0))) == 1
    assert "j1" not in state.allocations.preempted


def test_nobody_leaves_who_need_not() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    queue(state, *(a_demand(number, gpus(1), priority=LOW) for number in (1, 2, 3)), at=10.0)
    assert len(preempted(queue(state, a_demand(4, gpus(2), priority=HIGH), at=200.0))) == 1


def test_a_job_that_refuses_preemption_is_left_alone() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1), priority=LOW, preemptible=False))
    plan = queue(state, a_demand(2, gpus(1), priority=HIGH), at=200.0)
    assert (started(plan), preempted(plan)) == ([], [])
    assert message(state, "j2") == "needs 1 GPU; 0 free now"


def test_the_same_priority_does_not_interrupt_a_job_that_never_announced_a_checkpoint() -> None:
    """However short the one that waits, and however long the one that runs."""
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1), predicted_s=1e6))
    assert preempted(queue(state, a_demand(2, gpus(1), predicted_s=10.0), at=50_000.0)) == []
    state.checkpointed("j1", 50_000.0)
    assert preempted(state.cycle(50_001.0)) == ["j1"]


def test_a_job_that_would_lose_most_of_what_it_has_left_is_not_interrupted() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    for number in range(30):
        state.learnt(a_demand(number, gpus(1)), 600_000.0)
    queue(state, a_demand(1, gpus(1)))
    state.checkpointed("j1", 200.0)
    assert preempted(queue(state, a_demand(2, gpus(1), predicted_s=10.0), at=500_000.0)) == []


def test_whoever_was_interrupted_does_not_come_straight_back() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1), predicted_s=1e6))
    state.checkpointed("j1", 1000.0)
    queue(state, a_demand(2, gpus(1), predicted_s=10.0), at=1000.0)
    state.released("j1")
    plan = queue(state, a_demand(1, gpus(1), predicted_s=1e6, ran_s=900.0), at=1001.0)
    assert (started(plan), preempted(plan)) == (["j2"], [])
    state.released("j2")
    assert started(state.cycle(1002.0)) == ["j1"]


def test_a_policy_that_does_not_interrupt_leaves_equals_alone() -> None:
    state = a_cluster(a_gpu_node("n1", 1), vcs=[a_vc("v", policy=OrderPolicy.SHORTEST)])
    queue(state, a_demand(1, gpus(1), vc="v", predicted_s=1e6))
    state.checkpointed("j1", 200.0)
    assert preempted(queue(state, a_demand(2, gpus(1), vc="v", predicted_s=1.0), at=200.0)) == []


def test_a_cluster_that_may_not_interrupt_lets_even_urgent_jobs_wait() -> None:
    state = a_cluster(a_gpu_node("n1", 1), may_interrupt=False)
    queue(state, a_demand(1, gpus(1), priority=LOW))
    assert preempted(queue(state, a_demand(2, gpus(1), priority=HIGH), at=200.0)) == []


# Borrowed places


def test_what_was_borrowed_is_given_back_when_its_owner_asks() -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 2), vcs=[a_vc("own", 2), a_vc("guest", 2)])
    plan = queue(state, a_demand(1, gpus(2), vc="guest"), a_demand(2, gpus(2), vc="guest"))
    assert started(plan) == ["j1", "j2"]
    lent = {share.vc: (share.borrowed.gpus, share.lent.gpus) for share in state.shares(100.0)}
    assert lent == {"own": ({}, {"A100": 2}), "guest": ({"A100": 2}, {})}
    plan = queue(state, a_demand(3, gpus(1), vc="own"), at=200.0)
    assert preempted(plan) == ["j2"]
    assert plan.preemptions[0].reason.code == "reclaimed"
    assert plan.preemptions[0].reason.message == "was preempted: job-3 reclaimed what its virtual cluster had lent"
    state.released("j2")
    assert started(state.cycle(201.0)) == ["j3"]


def test_of_those_who_borrow_the_one_leaves_that_loses_least() -> None:
    nodes = [a_gpu_node(f"n{number}", 1) for number in range(3)]
    state = a_cluster(*nodes, vcs=[a_vc("own", 3)])
    run_in_turn(state, *(a_demand(number, gpus(1)) for number in (1, 3, 2)))
    state.checkpointed("j3", 199.0)
    assert preempted(queue(state, a_demand(4, gpus(1), vc="own"), at=200.0)) == ["j3"]


def test_an_owner_takes_idle_places_before_it_sends_a_borrower_away() -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 2), vcs=[a_vc("own", 2)])
    busy = nodes_of(queue(state, a_demand(1, gpus(2))), "j1")
    plan = queue(state, a_demand(2, gpus(2), vc="own"))
    assert (started(plan), preempted(plan)) == (["j2"], [])
    assert nodes_of(plan, "j2") != busy


def test_priority_does_not_reach_into_what_another_is_promised() -> None:
    state = a_cluster(a_gpu_node("n1", 2), vcs=[a_vc("own", 1), a_vc("guest", 1)])
    queue(state, a_demand(1, gpus(1), vc="own", priority=LOW), a_demand(2, gpus(1), vc="guest", priority=LOW))
    assert preempted(queue(state, a_demand(3, gpus(2), vc="guest", priority=Priority.URGENT), at=200.0)) == []


def test_a_job_that_refuses_preemption_starts_on_what_is_promised_and_borrows_nothing() -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 2), vcs=[a_vc("own", 2), a_vc("guest", 2)])
    plan = queue(
        state,
        a_demand(1, gpus(2), vc="guest", preemptible=False),
        a_demand(2, gpus(2), vc="guest", preemptible=False),
    )
    assert started(plan) == ["j1"]
    assert codes(state, "j2")[0] == "share"
    assert "cannot borrow" in message(state, "j2")


def test_a_job_that_refuses_preemption_clears_its_own_cell_and_stays_there() -> None:
    """It would find an idle node elsewhere, but could not be moved when that node's owner comes."""
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 4), vcs=[a_vc("own", 4), a_vc("guest", 2)])
    queue(state, a_demand(1, gpus(2), vc="own"))
    cell = next(iter(state.guarantees.cells["guest"].by_name))
    plan = queue(state, a_demand(2, gpus(2), vc="guest", preemptible=False))
    state.released("j1")
    plan = plan if plan.starts else state.cycle(101.0)
    assert nodes_of(plan, "j2") == [cell]


@pytest.mark.parametrize("share", [2, 0.5])
def test_cells_that_are_dealt_anew_owe_nothing_to_a_job_that_is_still_stopping(share: float) -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 4))
    assert nodes_of(queue(state, a_demand(1, gpus(share), vc="own")), "j1") == ["n1"]
    vcs = [a_vc("own", 4), a_vc("guest", 2)]
    state.configured(vcs)
    state.cycle(101.0)
    plan = queue(state, a_demand(2, gpus(2), vc="guest", preemptible=False), at=102.0)
    assert preempted(plan) == ["j1"]

    state.configured(vcs)
    state.cycle(103.0)
    state.released("j1")

    (cell,) = state.guarantees.cells["own"].by_name.values()
    assert (cell.cpu_m, cell.all_gpus()) == (cell.node.capacity.cpu_m, 4)


def test_parts_of_a_card_are_reclaimed_too() -> None:
    state = a_cluster(a_gpu_node("n1", 1), vcs=[a_vc("own", 1)])
    plan = queue(state, a_demand(1, gpus(0.5)), a_demand(2, gpus(0.5)))
    assert [places(plan, job)["worker-0"] for job in ("j1", "j2")] == [("n1", (0,))] * 2
    assert len(preempted(queue(state, a_demand(3, gpus(0.5), vc="own"), at=200.0))) == 1
