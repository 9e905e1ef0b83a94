"""Who is next, how long anybody can be kept waiting, and what may pass a reservation."""

from dataclasses import replace
from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.specs import Priority
from muster.domain.virtual_clusters import OrderPolicy, VirtualCluster
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand
from muster.scheduling.ordering.order_policies import Overtaking, Policy
from muster.scheduling.ordering.ranking import Arrival
from tests.parts.building import a_node, a_role
from tests.unit.scheduling.clusters import a_cluster, a_demand, a_gpu_node, a_vc, gpus, queue, started

pytestmark = pytest.mark.fast
AGING_S = 1000.0
STEPS = 3
"""From normal priority to above urgent."""


def test_urgent_first_then_first_come_first_served() -> None:
    state = a_cluster(a_node("n1", 2))
    plan = queue(
        state,
        a_demand(1, a_role()),
        a_demand(2, a_role(), priority=Priority.LOW),
        a_demand(3, a_role(), priority=Priority.URGENT),
        a_demand(4, a_role(), priority=Priority.HIGH),
    )
    assert started(plan) == ["j3", "j4"]
    state.released("j3")
    assert started(state.cycle(101.0)) == ["j1"]


@pytest.mark.parametrize("policy", list(OrderPolicy))
def test_priority_comes_before_every_policy(policy: OrderPolicy) -> None:
    state = a_cluster(a_gpu_node("n1", 1), vcs=[a_vc("v", policy=policy)], may_interrupt=False)
    queue(state, a_demand(1, gpus(1), vc="v"))
    queue(
        state,
        a_demand(2, gpus(1), vc="v", user="amy", predicted_s=1.0),
        a_demand(3, gpus(1), vc="v", user="bob", predicted_s=1e6, priority=Priority.HIGH),
    )
    state.released("j1")
    assert started(state.cycle(101.0)) == ["j3"]


# Ageing


def flooded(state: ClusterState, big: JobDemand, small: JobDemand, last_s: float, until: float) -> float | None:
    """When `big` starts, with one `small` more every ten seconds than the nodes could ever run; each lasts `last_s`."""
    ends: list[tuple[float, str]] = []
    demands = {big.job_id: big}
    state.queued(replace(big, waiting_since=0.0))
    at, number = 0.0, 0
    while at < until:
        while ends and ends[0][0] <= at:
            _, job_id = heappop(ends)
            if job_id in state.allocations.by_job:
                state.released(job_id)
        for _ in range(2):
            number += 1
            one = replace(small, job_id=f"s{number}", name=f"s{number}", created_at=at, waiting_since=at)
            demands[one.job_id] = one
            state.queued(one)
        while True:
            plan = state.cycle(at)
            for left in plan.preemptions:
                state.released(left.job_id)
                state.queued(replace(demands[left.job_id], waiting_since=at))
            for start in plan.starts:
                if start.job_id == big.job_id:
                    return at
                heappush(ends, (at + last_s, start.job_id))
            if not plan.starts and not plan.preemptions:
                break
        at += 10.0
    return None


@pytest.mark.parametrize("last_s", [20.0, 300.0])
@pytest.mark.parametrize("may_interrupt", [True, False])
@pytest.mark.parametrize("flood", ["", "w"], ids=["of its own", "of another virtual cluster"])
def test_a_large_gang_starts_when_patience_has_run_out(last_s: float, may_interrupt: bool, flood: str) -> None:
    state = a_cluster(*(a_gpu_node(f"n{number}", 2) for number in range(4)), may_interrupt=may_interrupt)
    state.follow(Policy("small first", _SmallFirst(), interrupts=may_interrupt, aging_s=AGING_S))
    if flood:
        state.configured([VirtualCluster("v", "lab"), VirtualCluster("w", "lab")])
    big = a_demand(1, gpus(2, 4), vc="v" if flood else "")
    small = replace(a_demand(2, gpus(1), vc=flood), checkpoint_every_s=0.0)
    at = flooded(state, big, small, last_s, until=3 * STEPS * AGING_S)
    assert at is not None, "it starves"
    assert AGING_S <= at <= STEPS * AGING_S + (0 if may_interrupt else last_s) + 10


def test_patience_interrupts_no_work_that_cannot_be_resumed() -> None:
    state = a_cluster(*(a_gpu_node(f"n{number}", 2) for number in range(4)))
    state.follow(Policy("small first", _SmallFirst(), interrupts=True, aging_s=AGING_S))
    at = flooded(state, a_demand(1, gpus(2, 4)), a_demand(2, gpus(1)), 300.0, until=3 * STEPS * AGING_S)
    assert at is not None, "it starves"
    assert STEPS * AGING_S + 10 < at <= STEPS * AGING_S + 310, "those who run are waited for, and nobody else"


@pytest.mark.parametrize("may_interrupt", [True, False])
def test_a_large_gang_starts_in_what_its_virtual_cluster_is_promised(may_interrupt: bool) -> None:
    nodes = [a_gpu_node(f"n{number}", 2) for number in range(4)]
    state = a_cluster(*nodes, may_interrupt=may_interrupt)
    state.follow(Policy("small first", _SmallFirst(), interrupts=may_interrupt, aging_s=AGING_S))
    state.configured([a_vc("v", 4), a_vc("w", 4)])
    at = flooded(state, a_demand(1, gpus(2, 2), vc="v"), a_demand(2, gpus(1), vc="v"), 300.0, 3 * STEPS * AGING_S)
    assert at is not None, "it starves"
    assert at <= STEPS * AGING_S + (0 if may_interrupt else 300.0) + 10


def test_patience_that_grows_while_a_job_waits_still_runs_out() -> None:
    """Jobs like it turn out to run longer than was thought when it came."""
    state = a_cluster(a_gpu_node("n1", 2), may_interrupt=False)
    state.follow(Policy("small first", _SmallFirst(), aging_s=AGING_S, aging_runs=1.0))
    big = a_demand(1, gpus(2))
    state.queued(a_demand(9, gpus(1)))
    state.cycle(0.0)
    state.queued(big)
    for _ in range(20):
        state.learnt(big, 5000.0)
    state.cycle(4 * AGING_S)
    state.cycle(40 * AGING_S)
    assert state.queue.lanes.jobs["j1"].priority == Priority.URGENT.rank + 1


class _SmallFirst:
    is_live = False

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        return gpus

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        return None


# Reservations


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 4), st.integers(1, 2), st.integers(1, 40), st.floats(0.3, 1.0)),
        min_size=2,
        max_size=25,
    )
)
@settings(max_examples=150, deadline=None)
def test_a_reserved_start_is_never_delayed(jobs: list[tuple[int, int, int, int, float]]) -> None:
    """Jobs end within their limits, some long before; whatever starts meanwhile, the head starts at the latest at the
    time first reserved for it."""
    state = a_cluster(a_gpu_node("n1", 4), a_gpu_node("n2", 4), a_gpu_node("n3", 2))
    state.follow(Policy("easy", Arrival(), Overtaking.RESERVED))
    demands = {
        f"j{number}": a_demand(number, gpus(size, tasks), time_limit_s=float(limit), created_at=float(submit))
        for number, (submit, size, tasks, limit, _) in enumerate(jobs)
    }
    lasts = {f"j{number}": limit * part for number, (_, _, _, limit, part) in enumerate(jobs)}
    events = sorted((demand.created_at, job_id, False) for job_id, demand in demands.items())
    reserved: dict[str, float] = {}
    unstarted = set(demands)
    while events:
        now = events[0][0]
        while events and events[0][0] <= now:
            _, job_id, is_end = heappop(events)
            if is_end:
                state.released(job_id)
            else:
                state.queued(demands[job_id])
        for start in state.cycle(now).starts:
            unstarted.discard(start.job_id)
            assert now <= reserved.get(start.job_id, now) + 1e-6, f"{start.job_id} was reserved an earlier start"
            heappush(events, (now + lasts[start.job_id], start.job_id, True))
        if (found := state.reservations.current) is not None:
            reserved.setdefault(found.job.job_id, found.at)
    assert not unstarted


def test_backfill_passes_only_if_it_is_gone_in_time_or_out_of_the_way() -> None:
    vcs = [a_vc("v", policy=OrderPolicy.FIFO)]
    state = a_cluster(a_gpu_node("n1", 4), a_gpu_node("n2", 2), vcs=vcs)
    queue(state, a_demand(1, gpus(3), vc="v", time_limit_s=50.0))
    plan = queue(
        state,
        a_demand(2, gpus(4), vc="v"),
        a_demand(3, gpus(1), vc="v", time_limit_s=60.0, where=replace(a_demand(0).where, nodes=("n1",))),
        a_demand(4, gpus(1), vc="v", time_limit_s=40.0, where=replace(a_demand(0).where, nodes=("n1",))),
        a_demand(5, gpus(2), vc="v"),
    )
    assert started(plan) == ["j4", "j5"]
    state.released("j1")
    state.released("j4")
    assert started(state.cycle(150.0)) == ["j2"]
