"""Where an axis has labels: at round values, which are 1, 2 or 5 times a power of ten, and whole ones for what is
counted."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from muster.lib.quantities import about_duration

_MOST = 5
_MOST_POWERS = 6
_MOST_DIGITS, _LEAST_DIGITS = 15, 4
_DURATIONS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
_DAY = 86400.0


class Tick(NamedTuple):
    value: float
    label: str


def ticks_between(low: float, high: float, *, is_whole: bool = False) -> list[Tick]:
    """`low` is less than `high`. A range that is too large or too small for numbers has none."""
    step = _step((high - low) / _MOST)
    if is_whole:
        step = max(step, 1.0)
    if not 0 < step < math.inf:
        return []
    decimals = -math.floor(math.log10(step) + 1e-9)
    before = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    digits = min(max(before + decimals, _LEAST_DIGITS), _MOST_DIGITS)
    values = [round(value, decimals) + 0.0 for value in _multiples(step, low, high)]
    return [Tick(value, f"{value:.0f}" if is_whole else f"{value:.{digits}g}") for value in values]


def powers_between(low: float, high: float) -> list[Tick]:
    """Powers of ten, for a logarithmic axis."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    apart = -(-(last - first + 1) // _MOST_POWERS)
    return [Tick(10.0**power, f"{10.0**power:g}") for power in range(first, last + 1, max(apart, 1))]


def durations_up_to(longest_s: float) -> list[Tick]:
    """Round durations from 0 on."""
    wanted = longest_s / _MOST
    step = next((float(one) for one in _DURATIONS if one >= wanted), _DAY * _step(wanted / _DAY))
    return [Tick(value, about_duration(value)) for value in _multiples(step, 0.0, longest_s)]


def are_whole(values: Sequence[float]) -> bool:
    return all(float(value).is_integer() for value in values)


def _step(least: float) -> float:
    """The smallest round number that is not less."""
    if not 0 < least < math.inf:
        return least
    magnitude: float = 10.0 ** math.floor(math.log10(least))
    return next((part * magnitude for part in (1, 2, 5) if part * magnitude >= least * (1 - 1e-9)), 10 * magnitude)


def _multiples(step: float, low: float, high: float) -> list[float]:
    """What is between them, both included also where a division is not exact."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * count for count in range(first, last + 1)]
