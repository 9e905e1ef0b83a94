"""Keeps the log of a task below its limit: the beginning and the end stay, and what is between them is dropped.

The command writes into the file itself, and never waits for us. Dropped bytes become a hole, so a position in the log
means the same for ever. A hole that the command itself has made counts as dropped, too. Which bytes are dropped is
recorded before they are, in a file whose block is there before the disk can be full. Where a file system knows no
holes, the end is copied aside and put back behind a new one.

The agent does this for the tasks of its node, and a shim for its own while it has no agent. They may look at one log
at once, so whoever drops bytes holds a lock.
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import Callable, Dict, NamedTuple, Optional

from muster.agent.system import holes
from muster.agent.system.loop import Loop
from muster.agent.tasks.task_folder import DROPPED, LOG, SAVED_LOG

HEAD_BYTES = 1 << 20
_LOOK_EVERY_S = 1.0
_LINE_BYTES = 64 * 1024
_RECORD_BYTES = 40

Work = Callable[[], None]


class Dropped(NamedTuple):
    """The bytes from `start` up to but not including `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


_NOTHING = Dropped(0, 0)


def dropped_of(folder: str, log: int) -> Optional[Dropped]:
    """What is missing in an open log, as one range: what was dropped from it, and the holes that the command has made,
    which would be read as zeros without end. A command may have emptied its log since bytes were dropped."""
    recorded = _NOTHING
    try:
        record = os.open(os.path.join(folder, DROPPED), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        pass
    else:
        try:
            recorded = _read(record)
        finally:
            os.close(record)
    missing = _with_holes(recorded if recorded.end <= os.fstat(log).st_size else _NOTHING, log)
    return missing if missing.length else None


class LogLimiting:
    """Looks at the logs of running tasks once a second, at the cost of one system call for each."""

    def __init__(self, loop: Loop, run: Callable[[Work], None]) -> None:
        """`run` does the work of dropping, which may take as long as the disk does."""
        self._loop = loop
        self._run = run
        self._logs: Dict[str, LimitedLog] = {}
        self._is_looking = False

    def watch(self, folder: str, limit: Optional[int]) -> None:
        if limit is None:
            return
        self._logs.setdefault(folder, LimitedLog(folder, limit))
        if not self._is_looking:
            self._is_looking = True
            self._loop.call_later(_LOOK_EVERY_S, self._look)

    def ended(self, folder: str) -> None:
        """The command has ended: the log gets its final form at once."""
        log = self._logs.pop(folder, None)
        if log is not None:
            log.look()

    def _look(self) -> None:
        for log in self._logs.values():
            if not log.is_busy and log.needs_dropping():
                log.is_busy = True
                self._run(log.drop)
        self._is_looking = bool(self._logs)
        if self._is_looking:
            self._loop.call_later(_LOOK_EVERY_S, self._look)


class LimitedLog:
    """The log in one task's folder. Whoever has no event loop looks at it now and then, and at last when the command
    has ended."""

    def __init__(self, folder: str, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._path = os.path.join(folder, LOG)
        self._seen = 0
        self._enough = limit // 2  # the size at which to look closer: first, to make the record while there is room
        self.is_busy = False

    def look(self) -> None:
        if self.needs_dropping():
            self.drop()

    def needs_dropping(self) -> bool:
        try:
            size = os.stat(self._path, follow_symlinks=False).st_size
        except OSError:
            return False
        shrunk, self._seen = size < self._seen, size
        return shrunk or size > self._enough

    def drop(self) -> None:
        try:
            self._enough = drop_middle(self._folder, self._limit)
        except OSError:
            pass  # the disk is full or the file gone; we look again in a second
        finally:
            self.is_busy = False


def skip(folder: str, log: int, end: int) -> None:
    """Record that the bytes from the end of an open log up to `end` will never be there: they were dropped before they
    could be written. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    record = os.open(os.path.join(folder, DROPPED), flags, 0o600)
    try:
        fcntl.flock(record, fcntl.LOCK_EX)
        before, size = _read(record), os.fstat(log).st_size
        skipped = Dropped(before.start if before.length else size, end)
        _write(record, skipped)
        os.ftruncate(log, end)
        if before.length:
            holes.can_punch(log, skipped.start, skipped.length)
    finally:
        os.close(record)


def drop_middle(folder: str, limit: int, can_punch: Callable[[int, int, int], bool] = holes.can_punch) -> int:
    """Drop bytes if the log is longer than its limit. Returns the size at which that is to be looked at again."""
    fd = os.open(os.path.join(folder, LOG), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    record = -1
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("the log is not a file any more")
        path = os.path.join(folder, DROPPED)
        record = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _drop(fd, record, os.path.join(folder, SAVED_LOG), limit, can_punch)
    finally:
        os.close(fd)
        if record >= 0:
            os.close(record)


def _drop(fd: int, record: int, saved: str, limit: int, can_punch: Callable[[int, int, int], bool]) -> int:
    before = _read(record)
    if os.path.lexists(saved):
        holes.put_back(fd, before.end, saved)
    size = os.fstat(fd).st_size
    if not os.fstat(record).st_size or size < before.end:
        before = _NOTHING
        _write(record, before)
    missing = _with_holes(before, fd)
    if size - missing.length <= limit:
        return limit + missing.length
    start = before.start if before.length else _head_end(fd, min(HEAD_BYTES, limit // 4))
    if missing.length:
        start = min(start, missing.start)
    kept = limit - start - limit // 8
    dropped = Dropped(start, max(missing.end, _line_after(fd, size - kept)))
    _write(record, dropped)
    os.fdatasync(record)  # other machines may read it from a network disk, which punches at once
    if not can_punch(fd, dropped.start, dropped.length):
        holes.save_rest(fd, dropped.end, saved)
        holes.cut(fd, dropped.start, dropped.end, saved)
    return limit + dropped.length


def _with_holes(recorded: Dropped, log: int) -> Dropped:
    found = holes.found(log)
    if found is None:
        return recorded
    if not recorded.length:
        return Dropped(*found)
    return Dropped(min(recorded.start, found[0]), max(recorded.end, found[1]))


def _head_end(fd: int, most: int) -> int:
    """The end of the last line that ends within the first `most` bytes."""
    back = min(most, _LINE_BYTES)
    newline = os.pread(fd, back, most - back).rfind(b"\n")
    return most if newline < 0 else most - back + newline + 1


def _line_after(fd: int, position: int) -> int:
    """The beginning of the first line behind this position; the position itself, if the line there is long."""
    newline = os.pread(fd, _LINE_BYTES, position).find(b"\n")
    return position + newline + 1


def _read(record: int) -> Dropped:
    words = os.pread(record, _RECORD_BYTES, 0).split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return _NOTHING
    start, end = int(words[0]), int(words[1])
    return Dropped(start, end) if start < end else _NOTHING


def _write(record: int, dropped: Dropped) -> None:
    """Writes over what is there, always as many bytes: this needs no space, and the record is never half there."""
    os.pwrite(record, b"%019d %019d\n" % dropped, 0)
