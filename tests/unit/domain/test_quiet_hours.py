"""Quiet hours hold a notice back until they end, also over midnight and over the nights in which clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.alerting.notices import quiet_hours

pytestmark = pytest.mark.fast
BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ("UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
HOURS = ("22:00-07:00", "01:00-02:30", "02:15-02:45", "23:30-00:30", "00:00-23:59")
NIGHTS = tuple(datetime(2026, month, day, tzinfo=UTC) for month, day in ((3, 8), (3, 29), (4, 4), (10, 25), (11, 1)))


def end(hours: str, at: datetime) -> str:
    instant = quiet_hours(hours).end_after(at.timestamp(), BERLIN)
    return datetime.fromtimestamp(instant, BERLIN).strftime("%d %H:%M %Z")


@pytest.mark.parametrize(
    ("hours", "at", "expected"),
    [
        ("22:00-07:00", datetime(2026, 6, 1, 21, 59, tzinfo=BERLIN), "01 21:59 CEST"),
        ("22:00-07:00", datetime(2026, 6, 1, 22, 0, tzinfo=BERLIN), "02 07:00 CEST"),
        ("22:00-07:00", datetime(2026, 6, 2, 6, 59, tzinfo=BERLIN), "02 07:00 CEST"),
        ("22:00-07:00", datetime(2026, 6, 2, 7, 0, tzinfo=BERLIN), "02 07:00 CEST"),
        ("22:00-07:00", datetime(2026, 3, 28, 23, 0, tzinfo=BERLIN), "29 07:00 CEST"),
        ("22:00-07:00", datetime(2026, 10, 24, 23, 0, tzinfo=BERLIN), "25 07:00 CET"),
        ("02:15-02:45", datetime(2026, 10, 25, 2, 20, tzinfo=BERLIN), "25 02:45 CEST"),
        ("02:15-02:45", datetime(2026, 10, 25, 2, 20, tzinfo=BERLIN, fold=1), "25 02:45 CET"),
        ("01:00-02:30", datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN), "29 03:30 CEST"),
    ],
)
def test_a_notice_waits_until_the_quiet_hours_end(hours: str, at: datetime, expected: str) -> None:
    assert end(hours, at) == expected


@given(st.sampled_from(ZONES), st.sampled_from(HOURS), st.sampled_from(NIGHTS), st.integers(-2 * 24 * 60, 2 * 24 * 60))
def test_nothing_is_sent_before_it_comes_nor_held_for_longer_than_a_day(
    zone: str, hours: str, night: datetime, minutes: int
) -> None:
    at = (night + timedelta(minutes=minutes)).timestamp()
    found = quiet_hours(hours).end_after(at, ZoneInfo(zone))
    assert at <= found <= at + 25 * 3600
    assert quiet_hours(hours).end_after(found, ZoneInfo(zone)) == found
