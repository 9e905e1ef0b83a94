"""Times as people write and read them with logs."""

import re
from datetime import datetime, timedelta

from muster.lib.quantities import parse_duration

ACCEPTED = "10m (before now), 10:00, 2026-11-16T10:00 (local time) or 2026-11-16T10:00:00Z"
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")


def parse_time(text: str, now: datetime) -> datetime:
    """`now` is local. A time of day is the last one that has passed. Raises ValueError."""
    given = text.strip()
    try:
        if _CLOCK.fullmatch(given):
            hours, minutes, *rest = (int(part) for part in given.split(":"))
            at = now.replace(hour=hours, minute=minutes, second=rest[0] if rest else 0, microsecond=0)
            return at if at <= now else at - timedelta(days=1)
        if re.match(r"[0-9]{4}-", given):
            return datetime.fromisoformat(given).astimezone()
        return now - timedelta(seconds=parse_duration(given))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} cannot be read as a time; write {ACCEPTED}") from None


def shown_time(at: datetime | None) -> str:
    """Shows a time in the zone of the reader, to a second, as it is known no better."""
    return "" if at is None else at.astimezone().isoformat(timespec="seconds")
