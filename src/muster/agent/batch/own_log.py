"""What a runner does for the log of its task: it keeps it below its limit, and notes when it grows."""

from __future__ import annotations

import time
from typing import Optional

from muster.agent.tasks.log_limits import LimitedLog
from muster.agent.tasks.log_times import TimedLog

LOOK_EVERY_S = 1.0


class OwnLog:
    def __init__(self, folder: str, limit: Optional[int]) -> None:
        self._timed = TimedLog(folder)
        self._limited = LimitedLog(folder, limit) if limit is not None else None
        self._looked_at = 0.0

    def look(self) -> None:
        """May be called as often as one likes."""
        if time.monotonic() >= self._looked_at + LOOK_EVERY_S:
            self._looked_at = time.monotonic()
            self.ended()

    def ended(self) -> None:
        """The command has ended: the log gets its final form at once."""
        self._timed.look()
        if self._limited is not None:
            self._limited.look()
