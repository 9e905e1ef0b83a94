"""Numbers that may be written as texts, as MLflow's clients write all params."""

import math

_LARGEST_INT = 2**63 - 1


def as_number(value: str | float | bool | None) -> int | float | None:
    """The number that it is, or that is written in it; None if there is none or it is not finite."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        return None  # `2024_01` is a number for Python alone
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    whole = _as_int(value)
    return number if whole is None or abs(whole) > _LARGEST_INT else whole


def _as_int(value: str | float) -> int | None:
    if isinstance(value, float):
        return None
    try:
        return int(value)
    except ValueError:
        return None
