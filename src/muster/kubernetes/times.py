"""Times as the Kubernetes API writes them: RFC 3339 in UTC, with whole seconds."""

from datetime import UTC, datetime

from muster.lib.clock import from_iso


def instant(text: object) -> float | None:
    """The time that an object of the API names; None if it names none. Go writes the year 1 for a time that is not
    set."""
    try:
        found = from_iso(text) if isinstance(text, str) else 0.0
    except (ValueError, OverflowError):
        return None
    return found if found > 0 else None


def timestamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def precise_timestamp(now: float) -> str:
    """Return the time with microseconds, as leases need it."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
