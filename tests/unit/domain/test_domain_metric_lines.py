"""Lines of metrics from a task's own hand: what is no report is left out, and nothing of it is an error."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.experiments.job_metrics import LONGEST_NAME, MOST_STEP, MetricPoint, thinned
from muster.domain.experiments.metric_lines import LONGEST_LINE, points_in, whole_lines


def test_a_report_has_a_point_for_each_metric() -> None:
    data = b'{"step": 3, "time": 10.5, "metrics": {"loss": 0.5, "acc": 1}}\n{"metrics": {"lr": NaN}}\n'
    first, second, third = points_in(data, now=99.0)
    assert (first, second) == (MetricPoint("loss", 3, 10.5, 0.5), MetricPoint("acc", 3, 10.5, 1.0))
    assert (third.name, third.step, third.at, math.isnan(third.value)) == ("lr", 0, 99.0, True)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"loss 0.5",
        b"[" * 100_000,
        b'{"step": 1}',
        b'{"metrics": []}',
        b'{"step": "1", "metrics": {"a": 1}}',
        b'{"step": 1.5, "metrics": {"a": 1}}',
        b'{"step": %d, "metrics": {"a": 1}}' % (MOST_STEP + 1),
        b'{"time": -1, "metrics": {"a": 1}}',
        b'{"time": Infinity, "metrics": {"a": 1}}',
        b'{"metrics": {"a": "1", "": 1, "\\u0000": 1, "b": null}}',
        b'{"metrics": {"%s": 1}}' % (b"a" * (LONGEST_NAME + 1)),
        b'{"metrics": {"a": 1}} ' + b" " * LONGEST_LINE,
        b'{"metrics": {"\xff": 1}}',
    ],
)
def test_what_is_no_report_is_left_out(line: bytes) -> None:
    assert list(points_in(line, now=1.0)) == []


def test_a_number_that_is_too_large_is_infinite() -> None:
    assert [point.value for point in points_in(b'{"metrics": {"a": 1%s}}' % (b"0" * 400), 1.0)] == [math.inf]


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_read_without_an_error(data: bytes, is_last: bool) -> None:
    assert 0 <= whole_lines(data, is_last=is_last) <= len(data)
    list(points_in(data, 1.0))


def test_a_line_that_is_not_complete_waits_unless_it_is_the_last_or_too_long() -> None:
    assert whole_lines(b"one\ntwo", is_last=False) == 4
    assert whole_lines(b"two", is_last=False) == 0
    assert whole_lines(b"one\ntwo", is_last=True) == 7
    assert whole_lines(b"x" * LONGEST_LINE, is_last=False) == LONGEST_LINE


@given(st.integers(0, 300), st.integers(0, 50))
def test_a_thinned_curve_has_its_first_and_last_point(count: int, most: int) -> None:
    points = [MetricPoint("a", step, 0.0, 0.0) for step in range(count)]
    found = thinned(points, most)
    assert len(found) == min(count, most)
    assert [one.step for one in found] == sorted({one.step for one in found})
    if count and most:
        assert found[-1] == points[-1]
    if count and most > 1:
        assert found[0] == points[0]
