"""Usage over time: the shape stays, the size is bounded, however long a task runs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.usage.usage_series import UsageSeries, gpu_values, values_of

pytestmark = pytest.mark.fast


def filled(samples: int, *, most: int = 10, every_s: float = 5.0) -> UsageSeries:
    series = UsageSeries(most=most)
    for number in range(samples):
        series.add(1000.0 + number * every_s, (float(number), 100))
    return series


@given(samples=st.integers(0, 500), most=st.integers(2, 20), every_s=st.sampled_from([2.0, 5.0, 7.0]))
def test_a_series_is_bounded_and_covers_all_of_the_time(samples: int, most: int, every_s: float) -> None:
    series = filled(samples, most=most, every_s=every_s)
    points = series.points()
    assert len(points) <= most + 1
    assert [point.at for point in points] == sorted(point.at for point in points)
    if samples:
        assert points[0].at == 1000.0
        assert 1000.0 + samples * every_s - points[-1].at <= series.span_s + every_s
        values = [point.values[0] for point in points if point.values[0] is not None]
        assert values == sorted(values), "a growing curve grows"
        assert all(point.values[1] == 100 for point in points)


@given(samples=st.integers(0, 60), most=st.integers(1, 15))
def test_fewer_points_are_answered_if_asked(samples: int, most: int) -> None:
    assert len(filled(samples, most=50).points(most)) <= most


def test_what_nobody_measured_stays_unknown_and_does_not_count() -> None:
    series = UsageSeries(gpus=(3, 4))
    series.add(1.0, values_of(None, 10, [(50.0, 7, None), (None, None, None)]))
    series.add(2.0, values_of(80.0, 20, [(100.0, 9, None), (None, None, None)]))
    (point,) = series.points()
    assert point.values[:2] == (80.0, 15)
    assert (gpu_values(point, 0), gpu_values(point, 1)) == ((75.0, 8, None), (None, None, None))


def test_a_sample_from_the_past_or_of_other_gpus_is_left_out() -> None:
    series = UsageSeries()
    series.add(10.0, (1.0, 1))
    series.add(9.0, (9.0, 9))
    series.add(11.0, (9.0, 9, 5.0, 5, 5))
    assert [point.values for point in series.points()] == [(1.0, 1)]


@given(samples=st.integers(0, 100))
def test_a_series_is_read_as_it_was_written_and_goes_on(samples: int) -> None:
    series = filled(samples)
    again = UsageSeries.of_plain(json.loads(json.dumps(series.to_plain())))
    assert [point.at for point in again.points()] == [point.at for point in series.points()]
    again.add(1e6, (0.0, 0))
    assert again.points()[-1].at == 1e6
