"""Tells an event loop of one's own, by a descriptor, that children have ended."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Optional


def child_signals() -> int:
    """Returns a descriptor that can be read whenever a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, do_nothing)
    return reading


def do_nothing(number: int, frame: Optional[FrameType]) -> None:
    """A handler of signals that are only to be noticed, or not to end the process."""
