"""Numbers of a run that fits on a page. Eight GPUs:

time      0     10     20     30     40     50
a (8 GPUs, vision, amy)  ██████ 10 s
b (4 GPUs, vision, bob)         ██████ 10 s        submitted at 0, waits 10
c (4 GPUs, speech, amy)                ██████████████ 30 s, submitted at 10, waits 10, preempted once
"""

import pytest

from muster.simulation.metrics import jain, percentile, summarise
from muster.simulation.records import Finished, Run, Sample, TraceJob

pytestmark = pytest.mark.fast


def a_run() -> Run:
    a = Finished(TraceJob("a", 0, 10, 8, "amy", "vision"), 0, 10)
    b = Finished(TraceJob("b", 0, 10, 4, "bob", "vision"), 10, 20)
    c = Finished(TraceJob("c", 10, 30, 4, "amy", "speech"), 20, 50, preemptions=1, lost_gpu_s=7200)
    samples = [Sample(0, 8, 1, 4), Sample(10, 4, 1, 4, 2), Sample(20, 4, 0, 0)]
    return Run("fifo", 8, [a, b, c], samples, (TraceJob("d", 0, 1, 99),), 0.25, 0.5)


def test_completion_and_queue_are_summed_up() -> None:
    summary = summarise(a_run())

    assert summary["jobs"] == 3
    assert [summary[f"{what}_jct"] for what in ("mean", "p50", "p90", "p99", "max")] == [
        pytest.approx(70 / 3, abs=1e-6),
        20,
        40,
        40,
        40,
    ]
    assert [summary[f"{what}_queue"] for what in ("mean", "p50", "p90", "p99", "max")] == [
        pytest.approx(20 / 3, abs=1e-6),
        10,
        10,
        10,
        10,
    ]


def test_time_is_weighed_by_how_long_it_lasted() -> None:
    summary = summarise(a_run())

    assert summary["makespan"] == 50
    assert summary["utilisation"] == (8 * 10 + 4 * 10 + 4 * 30) / (8 * 50)
    assert summary["busy_while_waiting"] == (8 * 10 + 4 * 10) / (8 * 20)
    assert summary["fragmentation"] == (2 * 10) / (8 * 20)


def test_makespan_is_counted_from_the_first_submission() -> None:
    run = Run("fifo", 1, [Finished(TraceJob("a", 100, 10, 1), 100, 110)], [Sample(100, 1, 0, 0)])

    assert summarise(run)["makespan"] == 10
    assert summarise(run)["utilisation"] == 1


def test_losses_are_counted() -> None:
    summary = summarise(a_run())

    assert (summary["preemptions"], summary["lost_gpu_s"], summary["lost_gpu_h"]) == (1, 7200, 2)
    assert (summary["never"], summary["never_jobs"]) == (1, ["d"])
    assert (summary["prediction_error"], summary["wall_s"]) == (0.5, 0.25)


def test_slowdown_and_its_fairness_are_by_virtual_cluster_and_user() -> None:
    summary = summarise(a_run())

    vision, speech = (1 + 2) / 2, 40 / 30
    amy, bob = (1 + 40 / 30) / 2, 2
    assert summary["mean_slowdown"] == pytest.approx((1 + 2 + 40 / 30) / 3, abs=1e-6)
    assert summary["fairness"] == {
        "vcs": pytest.approx((vision + speech) ** 2 / (2 * (vision**2 + speech**2)), abs=1e-6),
        "users": pytest.approx((amy + bob) ** 2 / (2 * (amy**2 + bob**2)), abs=1e-6),
    }


def test_each_virtual_cluster_and_user_has_its_own_numbers() -> None:
    summary = summarise(a_run())

    assert list(summary["vcs"]) == ["speech", "vision"]
    assert list(summary["users"]) == ["amy", "bob"]
    vision = summary["vcs"]["vision"]
    assert (vision["jobs"], vision["mean_jct"], vision["mean_queue"], vision["p99_queue"]) == (2, 15, 5, 10)
    assert vision["gpu_s"] == 120
    assert summary["vcs"]["speech"]["preemptions"] == 1


def test_jobs_without_user_and_virtual_cluster_are_in_no_group() -> None:
    summary = summarise(Run("fifo", 1, [Finished(TraceJob("a", 0, 10, 1), 0, 10)], [Sample(0, 1, 0, 0)]))

    assert (summary["vcs"], summary["users"], summary["fairness"]) == ({}, {}, {"vcs": None, "users": None})


def test_where_nobody_waited_there_is_no_share_of_waiting() -> None:
    summary = summarise(Run("fifo", 1, [Finished(TraceJob("a", 0, 10, 1), 0, 10)], [Sample(0, 1, 0, 0)]))

    assert summary["busy_while_waiting"] is None
    assert summary["fragmentation"] is None


def test_a_run_of_nothing_has_a_summary() -> None:
    summary = summarise(Run("fifo", 8, []))

    assert (summary["jobs"], summary["mean_jct"], summary["makespan"], summary["utilisation"]) == (0, None, 0, None)


def test_slowdown_of_very_short_jobs_is_bounded() -> None:
    summary = summarise(Run("fifo", 1, [Finished(TraceJob("a", 0, 0, 1), 50, 50)]))

    assert summary["mean_slowdown"] == 5


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (10, 1), (10.1, 2), (50, 5), (90, 9), (99, 10), (100, 10)])
def test_percentiles_are_nearest_rank(percent: float, value: float) -> None:
    assert percentile(list(range(1, 11)), percent) == value


def test_jain_is_one_for_equals_and_one_nth_for_one_who_has_all() -> None:
    assert jain([3, 3, 3]) == 1
    assert jain([1, 0, 0, 0]) == 0.25
    assert jain([]) is None
