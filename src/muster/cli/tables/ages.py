"""Relative times for people: `5m ago`, `in 3d`. The current time is always an argument."""

from datetime import datetime

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def ago(instant: datetime | None, now: datetime) -> str | None:
    if instant is None:
        return None
    seconds = (now - instant).total_seconds()
    if seconds < -1:
        return f"in {_largest(-seconds)}"
    return f"{_largest(max(seconds, 0))} ago"


def _largest(seconds: float) -> str:
    for name, size in _UNITS:
        if seconds >= size * 2 or (size == 1):
            return f"{int(seconds // size)}{name}"
    return "0s"
