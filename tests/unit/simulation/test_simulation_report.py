import pytest

from muster.simulation.metrics import Summary, summarise
from muster.simulation.records import Finished, Run, Sample, TraceJob
from muster.simulation.report import breakdown, comparison, in_seconds

pytestmark = pytest.mark.fast


def a_summary(policy: str = "fifo", waits_s: float = 10.0) -> Summary:
    first = Finished(TraceJob("a", 0, 100, 8, "amy", "vision"), 0, 100)
    second = Finished(TraceJob("b", 0, 100, 8, "bob", "speech"), 100, 200 + waits_s, preemptions=1, lost_gpu_s=3600)
    samples = [Sample(0, 8, 1, 8), Sample(100, 8, 0, 0)]
    return summarise(Run(policy, 8, [first, second], samples))


def test_policies_stand_side_by_side() -> None:
    rows = comparison([a_summary("fifo"), a_summary("las", 30.5)], in_seconds)

    assert rows[0] == ("", "fifo", "las")
    assert ("JCT, mean", "155", "165.25") in rows
    assert ("queue, longest", "110", "130.50") in rows
    assert ("preemptions", "1", "1") in rows
    assert ("GPU hours lost", "1", "1") in rows
    assert ("  while jobs wait", "100.0 %", "100.0 %") in rows


def test_what_nobody_has_is_not_shown() -> None:
    titles = {row[0] for row in comparison([a_summary()], in_seconds)}

    assert "fairness of VCs" in titles
    assert titles.isdisjoint({"never ran", "prediction off by"})


def test_one_policy_shows_all_of_each_virtual_cluster() -> None:
    assert breakdown([a_summary()], "vcs", in_seconds) == [
        ("VC", "JOBS", "MEAN JCT", "P99 JCT", "MEAN QUEUE", "P99 QUEUE", "SLOWDOWN", "PREEMPTIONS", "GPU HOURS"),
        ("speech", "1", "210", "210", "110", "110", "2.1", "1", "0"),
        ("vision", "1", "100", "100", "0", "0", "1", "0", "0"),
    ]


def test_several_policies_show_the_queue_of_each_user() -> None:
    assert breakdown([a_summary("fifo"), a_summary("las", 30)], "users", in_seconds) == [
        ("USER", "JOBS", "MEAN QUEUE, fifo", "MEAN QUEUE, las"),
        ("amy", "1", "0", "0"),
        ("bob", "1", "110", "130"),
    ]


def test_without_names_there_is_no_breakdown() -> None:
    summary = summarise(Run("fifo", 1, [Finished(TraceJob("a", 0, 10, 1), 0, 10)]))

    assert breakdown([summary], "vcs", in_seconds) == []
