"""Notices that wait to be sent, and what each user wants to be told about their own jobs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


class NoticeTopic(StrEnum):
    """What users can be told about their jobs."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    ALERTS = "alerts"
    """Alerts of their own jobs whose rules mail the owner."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A span of each day in which nothing is sent. It may go over midnight."""

    begin: time
    end: time

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"

    def end_after(self, at: float, zone: tzinfo) -> float:
        """When something that comes at this time may be sent: at once, or at the end of the quiet hours."""
        local = datetime.fromtimestamp(at, zone)
        now = local.time()
        over_midnight = self.begin > self.end
        is_quiet = (now >= self.begin or now < self.end) if over_midnight else self.begin <= now < self.end
        if not is_quiet:
            return at
        day = local.date() + timedelta(days=1) if over_midnight and now >= self.begin else local.date()
        end = datetime.combine(day, self.end, zone)
        if end.timestamp() < at:  # clocks were set back meanwhile, and the hours are quiet for the second time
            end = end.replace(fold=1)
        return end.astimezone(UTC).timestamp()


def quiet_hours(text: str) -> QuietHours:
    """Reads quiet hours such as `22:00-07:00`. Raises ValueError."""
    begin, dash, end = text.partition("-")
    if not dash:
        raise ValueError("must look like 22:00-07:00")
    hours = QuietHours(_time_of_day(begin.strip()), _time_of_day(end.strip()))
    if hours.begin == hours.end:
        raise ValueError("must not begin and end at the same time")
    return hours


def _time_of_day(text: str) -> time:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError("must be a time of day such as 22:00")
    return time(int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class NoticeSettings:
    """What one user wants to be told, and by what ways. It contains no secret: the address of a webhook is one of the
    user's secrets, and only its name is here."""

    user_id: str
    topics: frozenset[NoticeTopic] = frozenset()
    mail: str = ""
    webhook_kind: str = ""
    """`webhook`, or the name of a chat; empty for none."""
    webhook_secret: str = ""
    waiting_s: float = 1800.0
    quiet: QuietHours | None = None
    time_zone: str = "UTC"
    language: str = "en"
    changed_at: float = 0.0
    """Jobs that ended before are not told."""


ADMINS = ""
"""The user id of notices to admins."""


@dataclass(frozen=True, slots=True)
class QueuedNotice:
    """One notice on one way. Its id is made from what it tells, so that it is queued once, whatever happens; it is kept
    for a while after it was sent."""

    id: str
    way: str
    user_id: str
    kind: str
    at: float
    title: str
    text: str = field(repr=False)
    not_before: float = 0.0
    tries: int = 0
    sent_at: float | None = None
    error: str = ""
    is_urgent: bool = False
    """Whether it overtakes notices that wait for the end of quiet hours."""
    data: Mapping[str, str] = field(default_factory=dict)
    """The same for programs."""

    @property
    def key(self) -> str:
        return f"{self.id}@{self.user_id}/{self.way}"

    @property
    def lane(self) -> str:
        """The notices of a lane are sent one after the other, so that no end overtakes its beginning."""
        return f"{self.user_id}/{self.way}{'!' if self.is_urgent else ''}"
