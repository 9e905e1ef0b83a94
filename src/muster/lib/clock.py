"""Time at the edges. Inside, an instant is a float: seconds since the epoch, UTC, handed in as `now`."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]

wall_clock: Clock = time.time


def iso(instant: float) -> str:
    """ISO-8601 in UTC with milliseconds: what the API and `-o json` print."""
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(instant * 1000) % 1000:03d}Z"


def optional_iso(instant: float | None) -> str | None:
    return None if instant is None else iso(instant)


def from_iso(text: str) -> float:
    """Raises ValueError for text that is no ISO-8601 time; a time without zone is UTC."""
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
