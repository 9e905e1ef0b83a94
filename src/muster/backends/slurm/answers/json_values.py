"""Values in the JSON of Slurm's commands, which each release writes in a way of its own.

21.08 and 22.05 write plain numbers and words. Later ones write lists, and for a number
`{"set": true, "infinite": false, "number": 5}`.
"""

from collections.abc import Mapping
from typing import Any

_NO_VALUES = frozenset((0xFFFE, 0xFFFF, 0xFFFF_FFFE, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFE, 0xFFFF_FFFF_FFFF_FFFF))


def number(value: Any) -> float | None:
    """Returns None if there is no number, or if it is infinite."""
    if isinstance(value, Mapping):
        if not value.get("set", True) or value.get("infinite"):
            return None
        value = value.get("number")
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value in _NO_VALUES or value < 0:
        return None
    return float(value)


def whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)


def time_of(value: Any) -> float | None:
    """Seconds since 1970; Slurm writes 0 for never."""
    return number(value) or None


def words(value: Any) -> tuple[str, ...]:
    """A list of words; a single word in older releases."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, list | tuple):
        return tuple(str(word) for word in value)
    return ()


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""
