"""When the weekly digest is due: in any time zone, over changes of the hour, and with clocks that jump."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.monitor.week import WeeklyTime, digest_turn

pytestmark = pytest.mark.fast

DAY = 86400.0
BERLIN = WeeklyTime(0, 9, 0, "Europe/Berlin")


def at(text: str, zone: str = "Europe/Berlin") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-01-05T08:59:59", "2026-01-05T09:00"),
        ("2026-01-05T09:00:00", "2026-01-12T09:00"),
        ("2026-01-06T00:00:00", "2026-01-12T09:00"),
        ("2026-03-28T12:00:00", "2026-03-30T09:00"),  # the night before, an hour was skipped
        ("2026-10-24T12:00:00", "2026-10-26T09:00"),
    ],
)
def test_the_next_digest_is_at_that_time_of_that_day(now: str, due: str) -> None:
    assert BERLIN.next_after(at(now)) == at(due)


def test_a_time_that_is_skipped_still_comes() -> None:
    sunday = WeeklyTime(6, 2, 30, "Europe/Berlin")
    assert sunday.next_after(at("2026-03-29T01:00")) == at("2026-03-29T03:30")


@given(
    st.integers(0, 6),
    st.integers(0, 23),
    st.integers(0, 59),
    st.floats(0, 4e9),
    st.sampled_from(["UTC", "Asia/Shanghai", "America/St_Johns", "Australia/Lord_Howe"]),
)
def test_it_is_always_later_and_within_a_week(day: int, hour: int, minute: int, now: float, zone: str) -> None:
    due = WeeklyTime(day, hour, minute, zone).next_after(now)
    assert now < due <= now + 7 * DAY + 2 * 3600


def test_a_monitor_that_has_just_begun_waits_for_the_day() -> None:
    turn = digest_turn(BERLIN, None, at("2026-01-06T12:00"), None)
    assert (turn.is_due, turn.due) == (False, at("2026-01-12T09:00"))


def test_one_digest_a_week() -> None:
    now, due, made = at("2026-01-06T12:00"), None, []
    last: float | None = None
    for minute in range(4 * 7 * 24 * 60):
        later = now + 60.0 * minute
        turn = digest_turn(BERLIN, due, later, None if last is None else later - last)
        due = turn.due
        if turn.is_due:
            made.append(later)
            last = later
    assert made == [at(f"2026-01-{day}T09:00") for day in (12, 19, 26)] + [at("2026-02-02T09:00")]


def test_a_monitor_that_was_off_makes_it_up_once() -> None:
    due = at("2026-01-12T09:00")
    turn = digest_turn(BERLIN, due, at("2026-02-04T10:00"), None)
    assert (turn.is_due, turn.due) == (True, at("2026-02-09T09:00"))


def test_a_clock_that_was_a_year_ahead_causes_one_digest_and_no_silence() -> None:
    now = at("2026-01-06T12:00")
    ahead = digest_turn(BERLIN, at("2026-01-12T09:00"), now + 365 * DAY, None)
    assert ahead.is_due
    back = digest_turn(BERLIN, ahead.due, now + 60, 60.0)
    assert (back.is_due, back.due) == (False, at("2026-01-12T09:00"))


def test_a_clock_that_jumps_to_and_fro_floods_nobody() -> None:
    now, due, count, last = at("2026-01-06T12:00"), at("2026-01-12T09:00"), 0, None
    for minute in range(100):
        wall = now + 60.0 * minute + (365 * DAY if minute % 2 else 0.0)
        turn = digest_turn(BERLIN, due, wall, None if last is None else 60.0 * (minute - last))
        due = turn.due
        if turn.is_due:
            count, last = count + 1, minute
    assert count == 1
