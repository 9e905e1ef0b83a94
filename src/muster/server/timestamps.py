"""Parses points in time as callers write them: an ISO-8601 time, or an age."""

from muster.domain.errors import Invalid
from muster.lib.clock import from_iso
from muster.lib.quantities import parse_duration


def instant(what: str, text: str | None, now: float) -> float | None:
    if text is None:
        return None
    try:
        return now - parse_duration(text)
    except ValueError:
        pass  # not an age, then a time
    try:
        return from_iso(text)
    except (ValueError, OverflowError):
        raise Invalid(f"{what} is an ISO-8601 time or an age such as 7d, not {text!r}") from None
