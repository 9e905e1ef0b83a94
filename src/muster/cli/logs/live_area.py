"""The bottom of a terminal: lines that are still being written are redrawn there, and finished lines scroll above."""

import os
from collections.abc import Callable, Sequence
from typing import TextIO

from muster.cli.logs.cells import clipped, width_of

_ERASE_BELOW = "\x1b[J"


class LiveArea:
    def __init__(self, out: TextIO, size: Callable[[], os.terminal_size]) -> None:
        self._out = out
        self._size = size
        self._drawn: list[str] = []
        self._drawn_size = size()

    @property
    def is_stale(self) -> bool:
        """Whether the terminal has another size than when the area was drawn."""
        return bool(self._drawn) and self._size() != self._drawn_size

    def draw(self, finished: str, live: Sequence[str]) -> None:
        """Prints whole lines, and behind them the unfinished ones, each on one line of the screen."""
        size = self._size()
        shown = _fitting(live, size)
        if not finished and shown == self._drawn and size == self._drawn_size:
            return
        self._out.write(self._erasing(size) + finished + "\n".join(shown))
        self._out.flush()
        self._drawn, self._drawn_size = shown, size

    def erase(self) -> None:
        self._out.write(self._erasing(self._size()))
        self._out.flush()
        self._drawn = []

    def _erasing(self, size: os.terminal_size) -> str:
        """A terminal that became narrower has wrapped the lines."""
        if not self._drawn:
            return ""
        rows = sum(max(1, -(-width_of(line) // size.columns)) for line in self._drawn)
        up = min(rows, size.lines) - 1
        return (f"\x1b[{up}A" if up else "") + "\r" + _ERASE_BELOW


def _fitting(live: Sequence[str], size: os.terminal_size) -> list[str]:
    """The last column stays free: a terminal wraps a line that fills it."""
    most = max(1, size.lines - 1)
    shown = [clipped(line, max(1, size.columns - 1)) for line in live[:most]]
    if len(live) > most:
        shown[-1] = clipped(f"… and {len(live) - most + 1} more", max(1, size.columns - 1))
    return shown
