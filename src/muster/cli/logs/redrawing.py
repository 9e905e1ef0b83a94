"""Draws lines on a terminal at a pace that a person can follow, whatever the pace at which they come."""

import os
import shutil
import threading
from collections.abc import Callable
from typing import TextIO

from muster.cli.logs.live_area import LiveArea

_APART_S = 0.05
_LOOK_AT_SIZE_S = 0.25
_MOST_KEPT = 256 * 1024
_FALLBACK = os.terminal_size((80, 24))


class Redrawing:
    """Lines appear at once while nothing is unfinished. A thread redraws unfinished ones, also when the terminal gets
    another size."""

    def __init__(self, out: TextIO, say: Callable[[str], None]) -> None:
        self._say = say
        self._area = LiveArea(out, lambda: _size(out))
        self._live: dict[str, list[str]] = {}
        self._finished: list[str] = []
        self._kept = 0
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def write(self, lines: str) -> None:
        if not lines:
            return
        with self._lock:
            self._finished.append(lines)
            self._kept += len(lines)
            if not self._live or self._kept > _MOST_KEPT:
                self._draw()
        self._changed.set()

    def show(self, task: str, unfinished: list[str]) -> None:
        with self._lock:
            if unfinished:
                self._live[task] = unfinished
            elif self._live.pop(task, None) is None:
                return
        self._changed.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._redraw, daemon=True)
            self._thread.start()

    def say(self, message: str) -> None:
        with self._lock:
            self._area.erase()
            self._say(message)
            self._draw()

    def close(self) -> None:
        self._closed.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._draw()

    def _redraw(self) -> None:
        while not self._closed.is_set():
            self._changed.wait(_LOOK_AT_SIZE_S if self._live else None)
            with self._lock:
                if self._changed.is_set() or self._area.is_stale:
                    self._changed.clear()
                    self._draw()
            self._closed.wait(_APART_S)

    def _draw(self) -> None:
        finished, self._finished, self._kept = "".join(self._finished), [], 0
        live = [row for task in sorted(self._live) for row in self._live[task]]
        self._area.draw(finished, live)


def _size(out: TextIO) -> os.terminal_size:
    try:
        size = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        size = shutil.get_terminal_size(_FALLBACK)
    return size if size.columns and size.lines else _FALLBACK
