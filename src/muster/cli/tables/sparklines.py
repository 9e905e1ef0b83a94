"""Sparklines: charts of one line of text."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], most: float, width: int) -> str:
    """Draws the last `width` values on a scale from 0 to `most`. Unknown values are gaps."""
    return "".join(_bar(value, most) for value in values[-width:])


def _bar(value: float | None, most: float) -> str:
    if value is None or most <= 0:
        return " "
    step = int(value / most * len(_BARS))
    return _BARS[min(max(step, 0), len(_BARS) - 1)]
