"""The parts of the scheduler's benchmarks that decide what a figure means."""

from itertools import islice

import pytest

from bench.scheduling import crowd
from bench.scheduling.exactness import count_same
from bench.scheduling.first_fit import FirstFit
from bench.scheduling.lines import ALONE_FIFO, EXACT, LINES, lines
from bench.scheduling.packing import machines, packed, resampled
from bench.scheduling.quality import SETTINGS
from bench.scheduling.replaying import COLUMNS, mean_of, written
from bench.scheduling.sharing import times, worse_off
from bench.scheduling.speed import exponent
from bench.table import Row, Sheet, Unit, at_most, render
from muster.scheduling.guarantees.cells import oversubscribed
from muster.simulation.options import NodeGroup
from muster.simulation.records import TraceJob

pytestmark = pytest.mark.fast


def test_a_growth_as_large_as_that_of_the_size_is_one() -> None:
    assert exponent(2.0, 20.0) == pytest.approx(1)
    assert exponent(3.0, 3.0) == pytest.approx(0)
    assert exponent(None, 3.0) is None


def test_worse_off_is_over_a_minute_later_among_jobs_that_ran_in_both() -> None:
    alone = {"a": 100.0, "b": 100.0, "c": 100.0, "d": 100.0}

    assert worse_off({"a": 161.0, "b": 160.0, "c": 0.0, "d": 100.0, "e": 9999.0}, alone) == 25


def test_waiting_where_alone_nobody_waits_is_above_the_line() -> None:
    assert times(0.0, 0.0) == 1
    assert times(1.0, 0.0) > 1
    assert times(50.0, 100.0) == 0.5


def test_only_figures_that_are_equal_to_the_last_digit_count() -> None:
    theirs = EXACT[1]
    ours = {"mean_jct": theirs.mean_jct + 0.001, "makespan": theirs.makespan, "preemptions": theirs.preemptions}

    assert count_same(theirs, ours) == 3
    assert count_same(theirs, {**ours, "mean_jct": theirs.mean_jct + 0.01}) == 2


def test_every_setting_has_lines_of_others_the_best_first() -> None:
    for setting in SETTINGS:
        found = [each.mean_jct for each in lines(setting.trace, setting.nodes)]
        assert found
        assert found == sorted(found)
    assert len({(each.trace, each.nodes, each.policy) for each in LINES}) == len(LINES)
    assert len(ALONE_FIFO) == 11


def test_the_mean_of_seeds_lacks_what_one_of_them_lacks() -> None:
    one = {key: 1.0 for key, _ in COLUMNS}
    mean = mean_of([one, {**one, "mean_jct": 3.0, "prediction_error": None}])

    assert mean["mean_jct"] == 2
    assert mean["prediction_error"] is None
    assert written("prediction_error", mean["prediction_error"]) == "-"


def test_the_crowd_is_the_same_for_a_seed_and_its_promises_can_be_kept() -> None:
    assert list(islice(crowd.demands(1), 50)) == list(islice(crowd.demands(1), 50))
    assert oversubscribed(crowd.virtual_clusters(100), crowd.nodes(100)) is None


def test_gangs_that_are_unlike_are_otherwise_the_same() -> None:
    alike, unlike = islice(crowd.demands(1), 50), list(islice(crowd.unlike(crowd.demands(1)), 50))

    assert len({job.tasks for job in unlike}) == 50
    assert [job.order for job in alike] == [job.order for job in unlike]


def test_plain_first_fit_starts_what_fits_in_order_and_leaves_the_rest() -> None:
    jobs = list(islice(crowd.demands(1), 40))
    plain = FirstFit(2, crowd.GPUS_PER_NODE, jobs)

    started = list(plain.look())

    assert len(started) == 40
    assert sum(started) == len(plain.running) == 40 - len(plain.queue)
    assert plain.queue == sorted(plain.queue, key=lambda job: job.order)
    for job_id in list(plain.running):
        plain.release(job_id)
    assert plain.free == [crowd.GPUS_PER_NODE] * 2


def test_tasks_are_drawn_until_they_ask_for_so_much() -> None:
    jobs = [TraceJob("half", 0, 0, 0.5), TraceJob("two", 0, 0, 2), TraceJob("none", 0, 0, 0, cpus=1)]

    drawn = [task.resources.gpu_m for demand in resampled(jobs, 1, 10_000) for task in demand.tasks]

    assert sum(drawn) >= 10_000 > sum(drawn[:-1])
    assert set(drawn) == {0, 500, 2000}


def test_a_saturated_cluster_counts_parts_of_cards_and_those_untouched() -> None:
    found = packed([TraceJob("most", 0, 0, 0.75)], machines([NodeGroup(1, 4, "T4")]), 1)

    assert (found.tasks, found.placed, found.untouched) == (7, 4, 0)
    assert found.percent == 75


def test_sheets_stand_below_the_one_table() -> None:
    text = render([Sheet("more", [("a", "b"), ("1", "22")]), Row("what", Unit.SECONDS, 2.0, bar=at_most(3, aim=1))])

    assert text.index("met, aim not") < text.index("more")
    assert "<= 3 s, aim 1 s" in text
    assert text.endswith("a  b\n-  --\n1  22")
