"""The wall clock and ISO-8601 times, for the edges of the program. Elsewhere an instant is a float (seconds since the
epoch, UTC) that is passed in as `now`."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]

wall_clock: Clock = time.time


def iso(instant: float) -> str:
    """The instant in ISO-8601, in UTC with milliseconds, as the API and `-o json` print it."""
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(instant * 1000) % 1000:03d}Z"


def optional_iso(instant: float | None) -> str | None:
    return None if instant is None else iso(instant)


def from_iso(text: str) -> float:
    """Raises ValueError if the text is not an ISO-8601 time. A time without a zone is taken as UTC."""
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
