"""Which members of a sweep are stopped early."""

import math
from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.experiments import sweep_stopping
from muster.domain.experiments.sweep_progress import Progress
from muster.domain.experiments.sweeps import Goal, StopBy, StopEarly

pytestmark = pytest.mark.fast

MEDIAN = StopEarly(StopBy.MEDIAN, after_step=2, members=2)
HALVING = StopEarly(StopBy.HALVING, after_step=1, members=3, factor=3)


Curve = Sequence[tuple[int, float]]


def early_stops(rule: StopEarly, goal: Goal, curves: Mapping[int, Curve], running: Collection[int]) -> dict[int, str]:
    members = {number: Progress.of(goal, curve) for number, curve in curves.items()}
    return sweep_stopping.early_stops(rule, goal, members, running)


def steps(*values: float) -> Curve:
    return [(step + 1, value) for step, value in enumerate(values)]


def test_a_member_worse_than_the_median_at_its_step_is_stopped() -> None:
    curves = {1: steps(0.5, 0.5), 2: steps(0.6, 0.6), 3: steps(0.1, 0.2)}
    found = early_stops(MEDIAN, Goal.MAX, curves, {3})
    assert found == {3: "stopped early: its best of 0.2 at step 2 is worse than the median 0.55 of 2"}


def test_the_goal_decides_what_is_worse() -> None:
    curves = {1: steps(0.5, 0.5), 2: steps(0.6, 0.6), 3: steps(0.1, 0.2)}
    assert not early_stops(MEDIAN, Goal.MIN, curves, {3})
    assert set(early_stops(MEDIAN, Goal.MIN, curves, {1, 2, 3})) == {1, 2}


def test_its_best_value_so_far_counts_and_not_its_last() -> None:
    assert not early_stops(MEDIAN, Goal.MAX, {1: steps(0.5, 0.5), 2: steps(0.5, 0.5), 3: steps(0.9, 0.1)}, {3})


def test_nothing_is_stopped_before_its_step_or_with_too_few_others() -> None:
    curves = {1: steps(0.5, 0.5), 2: steps(0.6, 0.6), 3: steps(0.1)}
    assert not early_stops(MEDIAN, Goal.MAX, curves, {3})
    assert not early_stops(MEDIAN, Goal.MAX, {1: steps(0.5, 0.5), 3: steps(0.1, 0.1)}, {3})
    assert not early_stops(MEDIAN, Goal.MAX, {1: steps(0.5, 0.5), 2: steps(0.5), 3: steps(0.1, 0.1)}, {3})


def test_what_others_reached_later_does_not_count() -> None:
    curves = {1: steps(0.1, 0.1, 0.9), 2: steps(0.1, 0.1, 0.9), 3: steps(0.2, 0.2)}
    assert not early_stops(MEDIAN, Goal.MAX, curves, {3})


def test_halving_keeps_the_best_third_at_each_rung() -> None:
    curves = {number: steps(number / 10) for number in range(1, 7)}
    assert set(early_stops(HALVING, Goal.MAX, curves, set(curves))) == {1, 2, 3, 4}
    assert set(early_stops(HALVING, Goal.MIN, curves, set(curves))) == {3, 4, 5, 6}


def test_halving_looks_at_rungs_only() -> None:
    at_two = {1: steps(0.9, 0.1), 2: steps(0.8, 0.9), 3: steps(0.1, 0.95)}
    assert set(early_stops(HALVING, Goal.MAX, at_two, {1, 2, 3})) == {2, 3}, "values at step 1 count until step 3"
    at_three = {1: steps(0.9, 0.1, 0.1), 2: steps(0.8, 0.9, 0.9), 3: steps(0.1, 0.95, 0.96)}
    assert set(early_stops(HALVING, Goal.MAX, at_three, {1, 2, 3})) == {1, 2}


def test_halving_waits_for_enough_members() -> None:
    assert not early_stops(HALVING, Goal.MAX, {1: steps(0.1), 2: steps(0.2)}, {1, 2})


def test_members_without_values_are_left_alone() -> None:
    assert not early_stops(MEDIAN, Goal.MAX, {1: steps(1, 1), 2: steps(1, 1), 3: []}, {3, 4})


@pytest.mark.parametrize("rule", [MEDIAN, HALVING], ids=["median", "halving"])
@pytest.mark.parametrize("goal", Goal)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_member_whose_newest_value_is_not_finite_is_the_worst(rule: StopEarly, goal: Goal, value: float) -> None:
    curves = {1: steps(0.5, 0.5), 2: steps(0.5, 0.5), 3: steps(0.9, value), 4: steps(value, value)}
    found = early_stops(rule, goal, curves, {3, 4})
    assert set(found) == {3, 4}
    assert all("stopped early: its value at step 2 is" in reason for reason in found.values())


def test_when_all_have_diverged_none_is_stopped() -> None:
    curves = {number: steps(math.nan, math.nan) for number in range(1, 5)}
    assert not early_stops(MEDIAN, Goal.MAX, curves, set(curves))
    assert not early_stops(HALVING, Goal.MIN, curves, set(curves))


def test_a_value_that_was_not_finite_for_a_while_does_not_count() -> None:
    curves = {1: steps(0.5, 0.5), 2: steps(0.6, 0.6), 3: steps(math.nan, 0.7)}
    assert not early_stops(MEDIAN, Goal.MAX, curves, {3})


@given(
    curves=st.dictionaries(
        st.integers(1, 8), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), min_size=1, max_size=8
    ),
    by=st.sampled_from(StopBy),
    goal=st.sampled_from(Goal),
    members=st.integers(1, 5),
)
def test_the_best_member_of_those_that_came_as_far_is_never_stopped(
    curves: dict[int, list[float]], by: StopBy, goal: Goal, members: int
) -> None:
    same_length = {number: steps(*values[:1]) for number, values in curves.items()}
    found = early_stops(StopEarly(by, 1, members, 2), goal, same_length, set(same_length))
    best = goal.best([values[0] for values in curves.values()])
    assert all(curves[number][0] != best for number in found)
