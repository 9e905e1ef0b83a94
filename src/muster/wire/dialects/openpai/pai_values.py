"""Values in an OpenPAI job, as references reach them and as they are written into commands."""

from collections.abc import Mapping
from typing import Any

_EXACT = 1 << 53
"""Whole numbers below it are written without a point there, however they are written in the file."""


def reached(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        is_listed = isinstance(step, int) and isinstance(value, list) and step < len(value)
        if not is_listed and not (isinstance(value, Mapping) and step in value):
            return None
        value = value[step]
    return value


def text_of(value: Any) -> str | None:
    """The value as OpenPAI writes it into a command; None if it has no such form."""
    if isinstance(value, bool):
        return str(value).lower()
    if is_plain(value):
        return str(number(value))
    if isinstance(value, list) and all(is_plain(one) for one in value):
        return ",".join(text_of(one) or "" for one in value)
    return None


def number(value: Any) -> Any:
    """JavaScript, which fills the templates there, writes 1.0 as 1."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
