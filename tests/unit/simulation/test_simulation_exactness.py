"""Foreign traces, and what another simulator of the same policies says of them, to the last digit."""

import pytest

from muster.simulation.driver import simulate
from muster.simulation.metrics import last_end_s
from muster.simulation.options import Options, PlacementKind, Policy, parse_nodes
from muster.simulation.traces import read_trace
from tests.parts.traces import foreign_trace


@pytest.mark.parametrize(
    ("trace", "nodes", "policy", "mean_jct", "makespan", "preemptions"),
    [
        ("muri_trace3.csv.gz", "8x8", Policy.FIFO, "991,167.02", 8_171_961, 0),
        ("muri_trace3.csv.gz", "8x8", Policy.SRSF, "172,683.74", 8_171_961, 749),
        ("muri_trace1.csv.gz", "8x8", Policy.FIFO, "10,313,080.67", 23_805_342, 0),
        ("muri_trace1.csv.gz", "8x8", Policy.SRSF, "952,245.38", 25_662_723, None),
        ("tiresias60.csv.gz", "4x4", Policy.FIFO, "200.82", None, 0),
        ("tiresias60.csv.gz", "4x4", Policy.SRSF, "195.90", None, None),
    ],
)
def test_count_placement_reproduces_the_simulator_of_tiresias(
    trace: str, nodes: str, policy: Policy, mean_jct: str, makespan: int | None, preemptions: int | None
) -> None:
    jobs = read_trace(foreign_trace(trace))

    run = simulate(jobs, parse_nodes(nodes), Options(policy, PlacementKind.COUNT))

    assert len(run.finished) == len(jobs)
    assert f"{sum(done.jct_s for done in run.finished) / len(jobs):,.2f}" == mean_jct
    assert makespan in (None, last_end_s(run) - jobs[0].submit_s)
    assert preemptions in (None, sum(done.preemptions for done in run.finished))
