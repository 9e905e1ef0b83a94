"""Gangs that start with what is there, grow when nobody waits, and shrink when somebody does."""

import pytest

from muster.domain.specs import Priority
from muster.domain.virtual_clusters import Limits
from muster.scheduling.plan import Plan
from tests.unit.scheduling.clusters import a_cluster, a_demand, a_gpu_node, a_vc, gpus, preempted, queue, started

pytestmark = pytest.mark.fast


def size(plan: Plan, job_id: str) -> int:
    return next(len(start.slots) for start in plan.starts if start.job_id == job_id)


def test_it_starts_with_what_is_there_and_never_below_its_least() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    queue(state, a_demand(1, gpus(1)))
    plan = queue(state, a_demand(2, gpus(1, 4, least=2)))
    assert size(plan, "j2") == 3
    plan = queue(state, a_demand(3, gpus(1, 4, least=2)))
    assert started(plan) == []
    state.released("j1")
    assert started(state.cycle(101.0)) == []
    state.released("j2")
    assert size(state.cycle(102.0), "j3") == 4


def test_it_starts_at_its_most_when_it_is_alone_and_as_asked_when_others_wait() -> None:
    state = a_cluster(a_gpu_node("n1", 8))
    assert size(queue(state, a_demand(1, gpus(1, 4, least=2, most=6))), "j1") == 6
    state.released("j1")
    plan = queue(state, a_demand(2, gpus(1, 4, least=2, most=6)), a_demand(3, gpus(8)))
    assert size(plan, "j2") == 4


def test_it_grows_after_a_checkpoint_when_nobody_waits() -> None:
    state = a_cluster(a_gpu_node("n1", 8))
    queue(state, a_demand(1, gpus(6)), a_demand(2, gpus(1, 4, least=2, most=8)))
    state.released("j1")
    assert preempted(state.cycle(500.0)) == [], "its work is not safe"
    state.checkpointed("j2", 600.0)
    plan = state.cycle(601.0)
    assert preempted(plan) == ["j2"]
    assert plan.preemptions[0].reason.message == "restarts with 8 tasks instead of 2"
    state.released("j2")
    assert size(queue(state, a_demand(2, gpus(1, 4, least=2, most=8)), at=602.0), "j2") == 8
    assert preempted(state.cycle(603.0)) == []


def test_it_does_not_grow_past_a_limit() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", limits=Limits(running_gpus=3))])
    elastic = a_demand(1, gpus(1, 4, least=2, most=8), vc="v")
    assert size(queue(state, elastic), "j1") == 3
    state.checkpointed("j1", 200.0)
    assert preempted(state.cycle(201.0)) == []


def test_a_limit_that_lets_only_a_smaller_size_run_lets_that_run() -> None:
    state = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("v", 4, limits=Limits(running_gpus=3))])
    assert size(queue(state, a_demand(1, gpus(1, 4, least=2), vc="v")), "j1") == 3


def test_one_that_refuses_preemption_is_not_restarted_to_grow() -> None:
    state = a_cluster(a_gpu_node("n1", 8))
    queue(state, a_demand(1, gpus(6)), a_demand(2, gpus(1, 4, least=2, most=8), preemptible=False))
    state.released("j1")
    state.checkpointed("j2", 600.0)
    assert preempted(state.cycle(601.0)) == []


def test_what_has_grown_shrinks_for_a_job_that_waits() -> None:
    state = a_cluster(a_gpu_node("n1", 8))
    elastic = a_demand(1, gpus(1, 4, least=2, most=8))
    assert size(queue(state, elastic), "j1") == 8
    state.checkpointed("j1", 1000.0)
    plan = queue(state, a_demand(2, gpus(4)), at=1001.0)
    assert preempted(plan) == ["j1"]
    state.released("j1")
    plan = queue(state, elastic, at=1010.0)
    assert (size(plan, "j2"), size(plan, "j1")) == (1, 4)
    assert sum(len(slot.devices) for start in plan.starts for slot in start.slots) == 8


def test_what_has_grown_keeps_its_work_from_a_job_that_can_wait() -> None:
    """It would lose over a minute."""
    state = a_cluster(a_gpu_node("n1", 8))
    queue(state, a_demand(1, gpus(1, 4, least=2, most=8)))
    assert preempted(queue(state, a_demand(2, gpus(4)), at=1001.0)) == []


def test_of_a_lower_priority_it_takes_only_its_least() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    queue(state, *(a_demand(number, gpus(1), priority=Priority.LOW) for number in (1, 2, 3, 4)))
    plan = queue(state, a_demand(5, gpus(1, 4, least=2), priority=Priority.HIGH), at=200.0)
    assert len(preempted(plan)) == 2


def test_after_a_restart_it_counts_as_large_as_it_is() -> None:
    """The spec says four; it runs with six."""
    state = a_cluster(a_gpu_node("n1", 8))
    elastic = a_demand(1, gpus(1, 4, least=2, most=6))
    slots = queue(state, elastic).starts[0].slots
    after = a_cluster(a_gpu_node("n1", 8), vcs=[a_vc("", limits=Limits(running_gpus=99))])
    after.holds(elastic, slots, since=100.0)
    after.cycle(101.0)
    assert [(quota.kind, quota.used) for quota in after.quotas(101.0)] == [("runningGpus", 6.0)]
    after.checkpointed("j1", 1000.0)
    assert preempted(queue(after, a_demand(2, gpus(2)), at=1001.0)) == []
    assert preempted(queue(after, a_demand(3, gpus(2)), at=1001.0)) == ["j1"]
