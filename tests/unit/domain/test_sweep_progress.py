"""The best value of a member until each step, from points that come little by little."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.experiments.sweep_progress import _MOST, Progress
from muster.domain.experiments.sweeps import Goal

pytestmark = pytest.mark.fast
_POINTS = st.lists(st.tuples(st.integers(-5, 20), st.floats()), min_size=1, max_size=30).map(
    lambda points: sorted(points, key=lambda point: point[0])
)


def expected(goal: Goal, points: list[tuple[int, float]], step: int) -> float:
    if not math.isfinite(points[-1][1]):
        return goal.worst
    finite = [(at, value) for at, value in points if math.isfinite(value)]
    return goal.best([value for at, value in finite if at <= step] or [finite[0][1]])


@given(
    points=_POINTS, cuts=st.lists(st.integers(0, 30), max_size=3), step=st.integers(-6, 21), goal=st.sampled_from(Goal)
)
def test_it_is_the_same_however_the_points_came(
    points: list[tuple[int, float]], cuts: list[int], step: int, goal: Goal
) -> None:
    progress = Progress(goal)
    for cut in [*sorted(cuts), len(points)]:
        first = progress.last_step if progress.points else -math.inf
        progress.continue_with([point for point in points[:cut] if point[0] >= first])
    assert progress.points == len(points)
    assert progress.best_until(step) == expected(goal, points, step)
    assert progress.has_come_to(step) == (points[-1][0] >= step)


def test_of_a_curve_that_always_improves_the_newest_value_and_nearly_all_before_are_known() -> None:
    count = 100 * _MOST
    progress = Progress.of(Goal.MIN, ((step, count - step) for step in range(count)))
    assert progress.best_until(count) == 1
    assert progress.best_until(0) == count
    for step in range(0, count, count // 50):
        assert count - step <= progress.best_until(step) <= count - step + 4 * count / _MOST
