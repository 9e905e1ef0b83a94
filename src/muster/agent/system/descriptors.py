"""File descriptors of this process."""

from __future__ import annotations

import os
from typing import Container


def close_inherited(kept: Container[int] = ()) -> None:
    """Close everything but standard input, output and error, and what is kept."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # the one that listed the folder


def write_into(path: str, content: bytes) -> None:
    """Write to a file that is there: one of the kernel's, or the end of a log."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(fd, content)
    finally:
        os.close(fd)
