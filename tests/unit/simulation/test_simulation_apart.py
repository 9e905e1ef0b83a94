from collections.abc import Sequence

import pytest

from muster.domain.errors import Invalid
from muster.simulation.isolated_runs import Progress, apart, worse_off
from muster.simulation.options import NodeGroup, Options, Policy
from muster.simulation.records import Finished, Run, Sample, TraceJob

pytestmark = pytest.mark.fast

JOBS = [
    TraceJob("a", 0, 100, 4, vc="vision"),
    TraceJob("b", 10, 20, 4, vc="speech"),
    TraceJob("c", 10, 30, 8, vc="speech"),
]
SHARED = Options(Policy.FIFO, vc_quota={"vision": 2, "speech": 1})


def one_by_one(jobs: Sequence[TraceJob], nodes: Sequence[NodeGroup], options: Options, _progress: Progress) -> Run:
    """A scheduler that runs a job at a time."""
    assert options.vc_quota is None
    gpus = sum(group.count * group.gpus for group in nodes)
    finished, samples = [], []
    free_at = 0.0
    for place, job in enumerate(jobs):
        start_s = max(job.submit_s, free_at)
        free_at = start_s + job.duration_s
        finished.append(Finished(job, start_s, free_at))
        samples.append(Sample(start_s, job.gpus, len(jobs) - place - 1, 0))
    return Run(str(options.policy), gpus, finished, samples, wall_s=1.0)


def test_each_virtual_cluster_runs_alone_on_its_own_nodes() -> None:
    run = apart(one_by_one)(JOBS, [NodeGroup(3, 8)], SHARED, None)

    assert (run.policy, run.gpus, run.wall_s) == ("fifo apart", 24, 2.0)
    assert {done.job.job_id: done.end_s for done in run.finished} == {"a": 100, "b": 30, "c": 60}


def test_what_runs_at_the_same_time_is_added_up() -> None:
    run = apart(one_by_one)(JOBS, [NodeGroup(3, 8)], SHARED, None)

    assert [(sample.at_s, sample.busy_gpus, sample.waiting_jobs) for sample in run.samples] == [
        (0, 4, 0),
        (10, 4 + 4, 1),
        (30, 4 + 8, 0),
        (60, 4, 0),
        (100, 0, 0),
    ]


def test_progress_goes_by_virtual_cluster() -> None:
    told: list[float] = []

    apart(one_by_one)(JOBS, [NodeGroup(3, 8)], SHARED, told.append)

    assert told == [0.5, 1.0]


@pytest.mark.parametrize(
    ("nodes", "options"), [([NodeGroup(3, 8)], Options()), ([NodeGroup(2, 8), NodeGroup(1, 4)], SHARED)]
)
def test_without_quota_or_with_unlike_nodes_nobody_can_be_apart(nodes: list[NodeGroup], options: Options) -> None:
    with pytest.raises(Invalid, match="only with a quota, on nodes that are all alike"):
        apart(one_by_one)(JOBS, nodes, options, None)


def test_a_job_is_worse_off_when_it_ends_over_a_minute_later() -> None:
    def ending(*ends_s: float) -> Run:
        return Run("fifo", 8, [Finished(job, 0, end_s) for job, end_s in zip(JOBS, ends_s, strict=True)])

    assert worse_off(ending(160, 90.5, 10), ending(100, 30, 60)) == pytest.approx(1 / 3)
    assert worse_off(ending(100, 30, 60), Run("fifo", 8, [])) is None
