"""Counts the work of a call in function calls, which no other program on the machine can change."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(work: Callable[[], object]) -> int:
    """Returns the number of calls, of Python and of C functions, that the work makes."""
    count = 0

    def note(_frame: FrameType, kind: str, _argument: Any) -> None:
        nonlocal count
        if kind in ("call", "c_call"):
            count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def growth(work: Callable[[int], object], size: int) -> float:
    """Returns how many times more work four times the size takes: about 4 if it is linear, 16 if it is quadratic."""
    return calls_of(lambda: work(4 * size)) / calls_of(lambda: work(size))
