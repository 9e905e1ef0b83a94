"""Reads single keys from the terminal while something is drawn on it. The terminal is as before afterwards."""

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

try:
    import termios
    import tty
except ImportError:  # Windows has neither
    _HAS_MODES = False
else:
    _HAS_MODES = True


class Keys(Protocol):
    def pressed(self, key: str, within_s: float) -> bool:
        """Waits so long for the key, and returns whether it was pressed. Others are ignored."""
        ...


class TerminalKeys:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def pressed(self, key: str, within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._fd], [], [], left)[0]:
                return False
            read = os.read(self._fd, 64)
            if key.encode() in read:
                return True
            if not read:  # the terminal is gone
                return True
        return False


class NoKeys:
    def pressed(self, key: str, within_s: float) -> bool:
        time.sleep(within_s)
        return False


@contextmanager
def single_keys() -> Iterator[Keys]:
    """Yields the keys that are pressed. Without a terminal on the standard input, or without its modes, there are none.
    Ctrl-C stays an interrupt."""
    if not _HAS_MODES or not sys.stdin.isatty():
        yield NoKeys()
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield TerminalKeys(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
