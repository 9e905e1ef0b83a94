"""Limits, largest shares and borrowing: who may start although there is room."""

import pytest

from muster.domain.specs import Priority
from muster.domain.virtual_clusters import WEEK_S, Limits, Share, VirtualCluster
from tests.parts.building import a_node, a_role
from tests.unit.scheduling.clusters import (
    a_cluster,
    a_demand,
    a_gpu_node,
    a_vc,
    codes,
    gpus,
    message,
    nodes_of,
    queue,
    started,
)

pytestmark = pytest.mark.fast
HOUR_S = 3600.0


def test_running_gpus_are_limited() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", limits=Limits(running_gpus=4))])
    plan = queue(state, *(a_demand(number, gpus(3), vc="v") for number in (1, 2)), a_demand(3, gpus(1), vc="v"))
    assert started(plan) == ["j1", "j3"]
    reason = state.reason("j2")
    assert reason is not None
    assert (reason.code, reason.message) == ("limit", "v uses 3 of 4 running GPUs")
    assert dict(reason.numbers) == {"limit": "runningGpus", "vc": "v", "user": "", "used": 3.0, "allowed": 4}
    state.released("j1")
    assert started(state.cycle(101.0)) == ["j2"]


def test_parts_of_cards_count_as_parts() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", limits=Limits(running_gpus=1))])
    assert started(queue(state, *(a_demand(number, gpus(0.5), vc="v") for number in (1, 2, 3)))) == ["j1", "j2"]


def test_running_jobs_of_each_user_are_limited_and_others_pass() -> None:
    state = a_cluster(a_node("n1", 8), vcs=[a_vc("v", user_limits=Limits(running_jobs=1))])
    users = ("amy", "amy", "bob", "bob")
    plan = queue(state, *(a_demand(n, a_role(), vc="v", user=user) for n, user in enumerate(users, 1)))
    assert started(plan) == ["j1", "j3"]
    assert message(state, "j2") == "amy in v uses 1 of 1 running jobs"


def test_gpu_hours_count_for_seven_days() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", limits=Limits(gpu_hours_week=10))])
    assert started(queue(state, a_demand(1, gpus(5), vc="v"), at=0.0)) == ["j1"]
    state.released("j1")
    plan = queue(state, a_demand(2, gpus(1), vc="v"), at=2 * HOUR_S)
    assert started(plan) == []
    assert message(state, "j2") == "v uses 10 of 10 GPU hours in seven days"
    at = 2 * HOUR_S
    while not plan.starts:
        assert plan.wake_at is not None
        at = plan.wake_at
        plan = state.cycle(at)
    assert (started(plan), at) == (["j2"], 2 * HOUR_S + WEEK_S)


def test_gpu_hours_of_before_a_restart_count() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", user_limits=Limits(gpu_hours_week=10))])
    state.charged("v", "amy", 10 * HOUR_S, at=50.0)
    plan = queue(state, a_demand(1, gpus(1), vc="v", user="amy"), a_demand(2, gpus(1), vc="v", user="bob"))
    assert started(plan) == ["j2"]
    assert message(state, "j1") == "amy in v uses 10 of 10 GPU hours in seven days"


def test_cpu_jobs_are_not_kept_by_limits_on_gpus() -> None:
    state = a_cluster(a_node("n1", 8), vcs=[a_vc("v", limits=Limits(running_gpus=0, gpu_hours_week=0))])
    assert started(queue(state, a_demand(1, a_role(), vc="v"))) == ["j1"]


def test_quotas_tell_limit_use_and_who_waits() -> None:
    vc = a_vc("v", limits=Limits(running_gpus=4), user_limits=Limits(running_jobs=1))
    state = a_cluster(a_gpu_node("n1", 8), vcs=[vc])
    queue(state, a_demand(1, gpus(2), vc="v", user="amy"), a_demand(2, gpus(2), vc="v", user="amy"))
    assert [(q.user, q.kind, q.limit, q.used, q.waiting) for q in state.quotas(100.0)] == [
        ("", "runningGpus", 4, 2.0, ()),
        ("amy", "runningJobs", 1, 1, ("j2",)),
    ]


def test_a_largest_share_counts_what_is_borrowed() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", 2, most=3), a_vc("w", 2)])
    plan = queue(state, a_demand(1, gpus(2), vc="v"), a_demand(2, gpus(1), vc="v"), a_demand(3, gpus(1), vc="v"))
    assert started(plan) == ["j1", "j2"]
    assert (codes(state, "j3")[0], message(state, "j3")) == ("share", "v may use 3 GPUs and would use 4")


def test_a_largest_share_of_one_model_leaves_the_others() -> None:
    vc = VirtualCluster("v", "lab", max=Share({"A100": 1, "V100": 8}))
    state = a_cluster(a_gpu_node("n1", 4, "A100"), a_gpu_node("n2", 4, "V100"), vcs=[vc])
    plan = queue(state, *(a_demand(number, gpus(1, 1, "A100"), vc="v") for number in (1, 2)))
    assert started(plan) == ["j1"]
    assert message(state, "j2") == "v may use 1 a100 GPUs and would use 2"
    assert started(queue(state, a_demand(3, gpus(1, 1, "V100"), vc="v"))) == ["j3"]


def test_who_does_not_borrow_keeps_to_its_guarantee() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", 2, borrows=False)])
    assert started(queue(state, a_demand(1, gpus(2), vc="v"), a_demand(2, gpus(1), vc="v"))) == ["j1"]
    assert message(state, "j2") == "all that v is guaranteed is in use, and it does not borrow"
    state.released("j1")
    assert started(state.cycle(101.0)) == ["j2"]


def test_a_borrower_is_promised_its_places_when_those_of_its_own_are_free() -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 2), vcs=[a_vc("v", 2), a_vc("w", 2)])
    queue(state, a_demand(1, gpus(2), vc="v"), a_demand(2, gpus(2), vc="v"))
    state.released("j1")
    state.cycle(101.0)
    assert [share.borrowed.gpus for share in state.shares(101.0)] == [{}, {}]
    assert started(queue(state, a_demand(3, gpus(2), vc="w"), at=102.0)) == ["j3"]


def test_guarantees_of_a_model_are_cells_of_that_model() -> None:
    vc = VirtualCluster("v", "lab", Share({"V100": 2}), borrows=False)
    state = a_cluster(a_gpu_node("n1", 4, "A100"), a_gpu_node("n2", 4, "V100"), vcs=[vc])
    assert nodes_of(queue(state, a_demand(1, gpus(1), vc="v")), "j1") == ["n2"]
    assert started(queue(state, a_demand(2, gpus(1, 1, "A100"), vc="v"))) == []


def test_guarantees_of_cpu_are_kept() -> None:
    vc = VirtualCluster("v", "lab", Share(cpu_m=4000))
    state = a_cluster(a_node("n1", 8), vcs=[vc])
    assert len(started(queue(state, *(a_demand(number, a_role(cpu=2)) for number in range(1, 5))))) == 4
    plan = queue(state, a_demand(5, a_role(cpu=4), vc="v"), at=200.0)
    assert len(plan.preemptions) == 2


def test_guarantees_that_exceed_the_nodes_are_told_in_numbers() -> None:
    state = a_cluster(a_gpu_node("n1", 8))
    assert state.oversubscribed([a_vc("v", 4), a_vc("w", 4)]) is None
    told = state.oversubscribed([a_vc("v", 6), a_vc("w", 4)])
    assert told == "the guarantees together ask for 10 of all GPUs of 8. No room for w: 2 more GPUs"


def test_settings_that_change_are_followed_at_once() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", limits=Limits(running_jobs=0))])
    assert started(queue(state, a_demand(1, gpus(1), vc="v"))) == []
    state.configured([a_vc("v", limits=Limits(running_jobs=1))])
    assert started(state.cycle(101.0)) == ["j1"]


def test_a_limit_keeps_no_place_from_others() -> None:
    state = a_cluster(a_gpu_node("n1", 1), vcs=[a_vc("v", limits=Limits(running_jobs=0)), a_vc("w")])
    plan = queue(state, a_demand(1, gpus(1), vc="v", priority=Priority.URGENT), a_demand(2, gpus(1), vc="w"))
    assert started(plan) == ["j2"]
