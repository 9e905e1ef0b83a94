"""Writes what the agent reports about itself: short lines on stderr and in a small rotated file, never task output or
secrets."""

from __future__ import annotations

import os
import select
import sys
import time
import traceback

_ROTATE_AT_BYTES = 512 * 1024
_LINE_BYTES = 2048


class Diagnostics:
    def __init__(self, path: str) -> None:
        self._path = path

    def note(self, text: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        line = "{} [{}] {}\n".format(stamp, os.getpid(), text).encode("utf-8", "replace")
        self._append(line)

    def warn(self, text: str) -> None:
        self.note(text)
        _to_stderr("muster agent: {}\n".format(text).encode("utf-8", "replace"))

    def crash(self, what: str, error: BaseException) -> None:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        self.note("{}\n{}".format(what, "".join(lines)))
        _to_stderr("muster agent: {}: {!r}\n".format(what, error).encode("utf-8", "replace"))

    def _append(self, line: bytes) -> None:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            if size > _ROTATE_AT_BYTES:
                os.replace(self._path, self._path + ".1")
        except OSError:
            pass  # a full disk must not stop the agent from reporting that the disk is full


def _to_stderr(line: bytes) -> None:
    """A reader that never drains our stderr must not be able to stop us, so a line that would block is dropped."""
    try:
        fd = sys.stderr.fileno()
        if select.select([], [fd], [], 0)[1]:
            os.write(fd, line[:_LINE_BYTES])
    except (OSError, ValueError):
        pass
