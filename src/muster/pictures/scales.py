"""Scales of parameters and metrics: where a value stands between the lowest and the highest one, numbers and texts
alike."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.lib.numbers import as_number
from muster.pictures.ticks import are_whole, powers_between, ticks_between

Value = str | float | bool | None
_LOG_FROM = 100.0
"""Numbers that are so many times as large as others are told apart on a logarithmic scale only."""


@dataclass(frozen=True, slots=True)
class Scale:
    """`places` has for each value its place from 0 to 1; None if it has none."""

    name: str
    places: Sequence[float | None]
    ticks: Sequence[tuple[float, str]]
    is_log: bool = False


def scale_of(name: str, values: Sequence[Value]) -> Scale:
    """Numbers are placed as numbers if all values are, also those that are written as texts; else each text has a place
    of its own."""
    read = [as_number(value) for value in values]
    numbers = [number for number in read if number is not None]
    if len(numbers) == sum(value is not None for value in values):
        return _of_numbers(name, read, numbers)
    return _of_texts(name, [None if value is None else _text(value) for value in values])


def _of_numbers(name: str, values: Sequence[float | None], numbers: Sequence[float]) -> Scale:
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    is_log = low > 0 and high / low >= _LOG_FROM
    if high == low:
        return Scale(name, [None if value is None else 0.5 for value in values], [(0.5, f"{low:.4g}")])

    def place(value: float) -> float:
        return math.log(value / low) / math.log(high / low) if is_log else (value - low) / (high - low)

    found = powers_between(low, high) if is_log else ticks_between(low, high, is_whole=are_whole(numbers))
    ticks = [(place(tick.value), tick.label) for tick in found]
    return Scale(name, [None if value is None else place(value) for value in values], ticks, is_log)


def _of_texts(name: str, values: Sequence[str | None]) -> Scale:
    texts = sorted({value for value in values if value is not None})
    last = max(len(texts) - 1, 1)
    places: Mapping[str, float] = {text: 0.5 if len(texts) == 1 else at / last for at, text in enumerate(texts)}
    return Scale(
        name, [None if value is None else places[value] for value in values], [(places[one], one) for one in texts]
    )


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
