"""Records when a log has grown: marks of a time and a length, at most one a second, in a small file next to the log.

A mark says that the log had this length when it was last written to at this time. The file is bounded: of many marks,
every second one of the older half is left out, so the newest are exact and the others become coarser with age. The
agent does this for the tasks of its node, and a shim for its own while it has no agent.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from typing import Dict, List, Tuple

from muster.agent.system.loop import Loop
from muster.agent.tasks.task_folder import LOG, LOG_TIMES

Mark = Tuple[int, int]
"""The time in milliseconds, and the length of the log."""

MOST_BYTES = 128 * 1024
_RECORD = struct.Struct("!QQ")
_MOST = MOST_BYTES // _RECORD.size
_LOOK_EVERY_S = 1.0
_OPENED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LogTiming:
    """Looks at the logs of running tasks once a second, at the cost of one system call for each."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._logs: Dict[str, TimedLog] = {}
        self._is_looking = False

    def watch(self, folder: str) -> None:
        if folder not in self._logs:
            self._logs[folder] = TimedLog(folder)
        if not self._is_looking:
            self._is_looking = True
            self._loop.call_later(_LOOK_EVERY_S, self._look)

    def ended(self, folder: str) -> None:
        log = self._logs.pop(folder, None)
        if log is not None:
            log.look()

    def _look(self) -> None:
        for log in self._logs.values():
            log.look()
        self._is_looking = bool(self._logs)
        if self._is_looking:
            self._loop.call_later(_LOOK_EVERY_S, self._look)


class TimedLog:
    """The log in one task's folder. Whoever has no event loop looks at it once a second, and at its end."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, LOG)
        self._marks = MarkFile(os.path.join(folder, LOG_TIMES))

    def look(self) -> None:
        try:
            seen = os.stat(self._path, follow_symlinks=False)
            self._marks.add(min(int(seen.st_mtime * 1000), int(time.time() * 1000)), seen.st_size)
        except OSError:
            pass  # the disk is full or the folder gone


class MarkFile:
    """The marks of one log. Both numbers grow; what does not is left out by those who read it."""

    def __init__(self, path: str) -> None:
        self._path = path
        marks = marks_of(read_marks(path))
        self._count = len(marks)
        self._time, self._length = marks[-1] if marks else (0, 0)

    def add(self, at_ms: int, length: int) -> None:
        if length <= self._length:
            return
        self._time, self._length = max(at_ms, self._time), length
        if self._count >= _MOST:
            self._thin()
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _OPENED, 0o600)
        try:
            os.write(fd, _RECORD.pack(self._time, length))
        finally:
            os.close(fd)
        self._count += 1

    def _thin(self) -> None:
        marks = marks_of(read_marks(self._path))
        half = len(marks) // 2
        kept = marks[1:half:2] + marks[half:]
        partial = self._path + ".partial"
        fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPENED, 0o600)
        try:
            os.write(fd, b"".join(_RECORD.pack(*mark) for mark in kept))
        finally:
            os.close(fd)
        os.rename(partial, self._path)
        self._count = len(kept)


def read_marks(path: str) -> bytes:
    """The marks as they are kept; none if there are none. The command shares the folder and may have put anything
    there."""
    try:
        fd = os.open(path, os.O_RDONLY | _OPENED)
    except OSError:
        return b""
    try:
        return os.read(fd, MOST_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def marks_of(data: bytes) -> List[Mark]:
    whole = len(data) - len(data) % _RECORD.size
    marks: List[Mark] = []
    for at_ms, length in _RECORD.iter_unpack(data[:whole]):
        if not marks or (length > marks[-1][1] and at_ms >= marks[-1][0]):
            marks.append((at_ms, length))
    return marks
