"""A node's clock against ours, by what the node says."""

import pytest

from muster.backends.agents.clock_offset import NodeClock

pytestmark = pytest.mark.fast

HOUR_S = 3600.0
NOW = 1_800_000_000.0


def test_a_clock_that_is_right_is_believed_to_the_letter() -> None:
    clock = NodeClock()
    assert not clock.answered(NOW - 0.3, NOW)
    assert clock.ours(NOW - 100.25) == NOW - 100.25
    assert clock.ours(None) is None
    assert clock.alerts == ()


@pytest.mark.parametrize(("ahead_s", "words"), [(HOUR_S, "1h ahead of"), (-HOUR_S, "1h behind")])
def test_times_of_a_clock_that_is_wrong_are_turned_into_ours(ahead_s: float, words: str) -> None:
    clock = NodeClock()
    assert clock.answered(NOW + ahead_s, NOW)
    assert clock.ours(NOW + ahead_s - 60) == NOW - 60
    assert words in clock.alerts[0]


def test_a_clock_that_was_set_is_noticed_in_two_samples() -> None:
    clock = NodeClock()
    clock.answered(NOW + HOUR_S, NOW)
    assert not clock.sampled(NOW + 2, NOW + 2)
    assert clock.sampled(NOW + 4, NOW + 4)
    assert clock.alerts == ()


def test_samples_that_lay_in_a_queue_say_nothing_of_the_clock() -> None:
    clock = NodeClock()
    clock.answered(NOW, NOW)
    assert not any(clock.sampled(NOW + second, NOW + 60) for second in range(0, 60, 2))
    assert clock.ours(NOW) == NOW
