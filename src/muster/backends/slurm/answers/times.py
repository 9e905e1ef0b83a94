"""Points in time and lengths of time as Slurm writes them."""

import re
from datetime import datetime, tzinfo

_LENGTH = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")


def read_time(text: str, zone: tzinfo | None = None) -> float | None:
    """Seconds since 1970; None for N/A, Unknown and the like. A local time without a zone is one of `zone`: that of
    the login node. None: its zone is that of this machine."""
    text = text.strip()
    if text.isdigit():
        return float(text) or None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None and zone is not None:
        found = found.replace(tzinfo=zone)
    return found.timestamp()


def read_length_s(text: str) -> float | None:
    """`1-00:00:00`, `10:00`, or whole minutes. None if it is unlimited or not known."""
    text = text.strip()
    if text.isdigit():
        return float(text) * 60
    found = _LENGTH.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(found[part] or 0) for part in ("days", "hours", "minutes", "seconds"))
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
