"""Exponential back-off between retries."""


def exponential(tries: int, *, first_s: float = 1.0, limit_s: float = 300.0) -> float:
    """Seconds to wait after the given number of failed tries (1, 2, 3 …): doubling up to the limit."""
    return min(limit_s, first_s * 2.0 ** min(tries - 1, 30)) if tries > 0 else 0.0
