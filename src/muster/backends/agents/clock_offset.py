"""The offset of a node's clock from the server's. Times that a node reports are converted to the server's clock, so
that no job is ended, charged or shown by a clock that is wrong."""

from muster.lib.quantities import format_duration

NOTICED_S = 5.0
"""A smaller offset is ignored. It may be the time that a message took, and does no harm."""
_AGREE_S = 1.0


class NodeClock:
    def __init__(self) -> None:
        self.ahead_s = 0.0
        """How far the node's clock is ahead. It is negative for a clock that is behind."""
        self._last_s = 0.0

    def answered(self, theirs: float, now: float) -> bool:
        """Take the time that the node has just answered. Returns whether the offset has changed."""
        ahead_s = self._last_s = theirs - now
        if abs(ahead_s - self.ahead_s) <= NOTICED_S:
            return False
        self.ahead_s = ahead_s if abs(ahead_s) > NOTICED_S else 0.0
        return True

    def sampled(self, theirs: float, now: float) -> bool:
        """Take the node's time from one of its samples. Samples that waited in a queue have older times that differ
        from each other, so only two that agree are believed. Returns whether the offset has changed."""
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
