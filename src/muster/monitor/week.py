"""When the weekly digest is due, by the clock on the wall of a time zone. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_WEEK = 7
_LONGEST_WAIT_S = 8 * 86400.0
"""A week, with a change of the hour. Whatever lies further ahead was planned by a clock that was wrong."""
_LEAST_BETWEEN_S = 86400.0
"""The least time between two digests. A clock that is set to and fro must not flood anybody."""


@dataclass(frozen=True, slots=True)
class WeeklyTime:
    """`weekday` is 0 on Mondays."""

    weekday: int
    hour: int
    minute: int
    zone: str

    def next_after(self, now: float) -> float:
        """The next such time that is later than now. A time that a change of the hour skips is taken an hour later."""
        zone = ZoneInfo(self.zone)
        here = datetime.fromtimestamp(now, zone)
        days = (self.weekday - here.weekday()) % _WEEK
        for more in (0, _WEEK):
            day = here.date() + timedelta(days=days + more)
            due = datetime(day.year, day.month, day.day, self.hour, self.minute, tzinfo=zone).timestamp()
            if due > now:
                return due
        raise AssertionError("a time in the next week is later than now")


@dataclass(frozen=True, slots=True)
class DigestTurn:
    due: float
    """When the next digest is due."""
    is_due: bool
    """Whether one is due now; `due` is then the one after it."""


def digest_turn(weekly: WeeklyTime, due: float | None, now: float, since_last_s: float | None) -> DigestTurn:
    """`since_last_s` is how long ago this process has made a digest, by a clock that never jumps."""
    if due is None or due - now > _LONGEST_WAIT_S:
        return DigestTurn(weekly.next_after(now), False)
    if now < due:
        return DigestTurn(due, False)
    is_too_soon = since_last_s is not None and since_last_s < _LEAST_BETWEEN_S
    return DigestTurn(weekly.next_after(now), not is_too_soon)
