"""A node's clock against ours. Times that a node tells are turned into ours, so that no job is ended, charged or shown
by the clock of a machine that nobody has set."""

from muster.lib.quantities import format_duration

NOTICED_S = 5.0
"""Less may be the way that a message took, and does no harm."""
_AGREE_S = 1.0


class NodeClock:
    def __init__(self) -> None:
        self.ahead_s = 0.0
        """Negative for a clock that is behind."""
        self._last_s = 0.0

    def answered(self, theirs: float, now: float) -> bool:
        """The node's time, as it said just now when it was asked. Whether that is news."""
        ahead_s = self._last_s = theirs - now
        if abs(ahead_s - self.ahead_s) <= NOTICED_S:
            return False
        self.ahead_s = ahead_s if abs(ahead_s) > NOTICED_S else 0.0
        return True

    def told(self, theirs: float, now: float) -> bool:
        """The node's time in one of its samples. Samples that lay in a queue say an older time, each another one: only
        two that agree are believed."""
        before_s, self._last_s = self._last_s, theirs - now
        return abs(self._last_s - before_s) <= _AGREE_S and self.answered(theirs, now)

    def ours(self, at: float | None) -> float | None:
        return None if at is None else at - self.ahead_s

    @property
    def alerts(self) -> tuple[str, ...]:
        if not self.ahead_s:
            return ()
        way = "ahead of" if self.ahead_s > 0 else "behind"
        return (f"its clock is {format_duration(round(abs(self.ahead_s)))} {way} the server's: set it, by NTP say",)
