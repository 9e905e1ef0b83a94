"""A guarantee is a promise: the jobs of a virtual cluster start no later than in a private cluster of its size.

Whoever borrows may come and go as it likes. The property is exact for a strict first-come order (nobody overtakes), for
gangs of whole nodes whatever a preemption costs, and for gangs of any size in a virtual cluster of one node if a
preempted job resumes where it was. Beyond that it cannot be: jobs that borrowed end earlier than they would alone, and
with any other order, or with gangs of many sizes on many nodes, an earlier end of one can mean a later start of another
in the private cluster itself (Graham's anomaly).
"""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.simulation.driver import simulate
from muster.simulation.generating import Recipe, generate
from muster.simulation.isolated_runs import apart, worse_off
from muster.simulation.options import CostKind, NodeGroup, Options, Policy, PreemptionCost
from muster.simulation.records import Run, TraceJob

GPUS = 4
FREE = PreemptionCost()
ALL_IS_LOST = PreemptionCost(CostKind.CHECKPOINT, interval_s=1e9)


@st.composite
def whole_nodes(draw: st.DrawFn) -> tuple[dict[str, int], list[TraceJob]]:
    quota = {f"v{number}": draw(st.integers(1, 3)) for number in range(draw(st.integers(2, 3)))}
    return quota, _jobs(draw, quota, lambda nodes: draw(st.integers(1, nodes)) * GPUS)


@st.composite
def one_node_each(draw: st.DrawFn) -> tuple[dict[str, int], list[TraceJob]]:
    quota = {f"v{number}": 1 for number in range(draw(st.integers(2, 3)))}
    return quota, _jobs(draw, quota, lambda _: draw(st.integers(1, GPUS)))


def _jobs(draw: st.DrawFn, quota: dict[str, int], gpus_of: object) -> list[TraceJob]:
    found = []
    for number in range(draw(st.integers(2, 20))):
        vc = draw(st.sampled_from(sorted(quota)))
        submit, duration = draw(st.integers(0, 60)), draw(st.integers(1, 40))
        gpus = gpus_of(quota[vc])  # type: ignore[operator]
        found.append(TraceJob(f"j{number:02}", float(submit), float(duration), float(gpus), vc=vc))
    return sorted(found, key=lambda job: (job.submit_s, job.job_id))


@pytest.mark.parametrize("cost", [FREE, ALL_IS_LOST], ids=str)
@given(case=whole_nodes(), idle=st.integers(0, 1))
@settings(max_examples=100, deadline=None)
def test_gangs_of_whole_nodes_start_no_later_than_alone(
    cost: PreemptionCost, case: tuple[dict[str, int], list[TraceJob]], idle: int
) -> None:
    assert late(*case, idle, cost) == []


@given(case=one_node_each(), idle=st.integers(0, 1))
@settings(max_examples=100, deadline=None)
def test_gangs_within_one_node_start_no_later_than_alone(
    case: tuple[dict[str, int], list[TraceJob]], idle: int
) -> None:
    assert late(*case, idle, FREE) == []


def late(quota: dict[str, int], jobs: Sequence[TraceJob], idle: int, cost: PreemptionCost) -> list[str]:
    """Jobs that started later together than alone; `idle` nodes are promised to nobody."""
    together, alone = both(jobs, sum(quota.values()) + idle, Options(Policy.FIFO, preemption_cost=cost, vc_quota=quota))
    starts = {done.job.job_id: done.first_start_s for done in alone.finished}
    assert starts.keys() == {done.job.job_id for done in together.finished}
    return [
        f"{done.job.job_id} at {done.first_start_s:g}, alone at {starts[done.job.job_id]:g}"
        for done in together.finished
        if done.first_start_s > starts[done.job.job_id]
    ]


def both(jobs: Sequence[TraceJob], nodes: int, options: Options) -> tuple[Run, Run]:
    groups = [NodeGroup(nodes, GPUS)]
    return simulate(jobs, groups, options), apart(simulate)(jobs, groups, options, None)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_hardly_anybody_is_worse_off_on_a_crowded_cluster(seed: int) -> None:
    """Gangs of all sizes, more than the nodes hold. The promises of those who borrowed are packed anew where that lets
    a gang start, so what cannot be promised exactly holds all but always."""
    jobs = list(generate(Recipe(400, seed=seed, per_hour=120.0, max_gpus=8)))
    together, alone = both(jobs, 12, Options(Policy.FIFO, vc_quota={"vc0": 6, "vc1": 6}))
    later = worse_off(together, alone)
    assert later is not None
    assert later <= 0.005
    waits = [sum(done.queue_s for done in run.finished) for run in (together, alone)]
    assert waits[0] < waits[1], "sharing is of no use"
