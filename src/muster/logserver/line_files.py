"""The file of JSON lines, and the full files before it: `FILE`, `FILE.000001`, `FILE.000002` and so on, the newest
last.

It is the only thing that has to be kept: everything else can be made from it. What `append` has written is on the disk
when it returns. What it could not write as a whole is not in the file afterwards.
"""

import errno
import fcntl
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

_log = structlog.get_logger("logserver.file")
_MODE = 0o600
_AT_ONCE = 1 << 20


class InUse(Exception):
    """Another log server writes to the file."""


class LineFiles:
    """One thread writes. Others may read what is written."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        """Raises InUse, or OSError if the path cannot be used."""
        self.path = path
        self._max_bytes = max_bytes
        self._naming = threading.Lock()
        self._lock = _locked(path.with_name(f"{path.name}.lock"))
        self._descriptor = _opened(path)
        self.number = max(self.full_files(), default=0) + 1
        """The number of the current file. It gets it as part of its name when it is full."""
        self.size = _repaired(self._descriptor, path)
        self._keep_names()

    def file(self, number: int) -> Path:
        return self.path if number == self.number else self.path.with_name(f"{self.path.name}.{number:06}")

    def full_files(self) -> list[int]:
        pattern = re.compile(re.escape(self.path.name) + r"\.(\d{6,})")
        found = (pattern.fullmatch(entry.name) for entry in os.scandir(self.path.parent))
        return sorted(int(match[1]) for match in found if match is not None)

    def append(self, lines: Sequence[bytes]) -> list[int]:
        """Write all lines, or none. Returns where each of them begins."""
        data = b"".join(lines)
        if self.size and self.size + len(data) > self._max_bytes:
            self._begin_another()
        offsets, at = [], self.size
        for line in lines:
            offsets.append(at)
            at += len(line)
        try:
            self.undo(self.size)  # a failure before this one may have left a part that could not be removed then
            _write(self._descriptor, data)
            os.fdatasync(self._descriptor)
        except OSError:
            with suppress(OSError):
                self.undo(self.size)
            raise
        self.size = at
        return offsets

    def undo(self, size: int) -> None:
        """Remove what is behind `size`. It needs no space on the disk."""
        self.size = size
        if os.fstat(self._descriptor).st_size != size:
            os.ftruncate(self._descriptor, size)
            os.fdatasync(self._descriptor)

    def remove(self, number: int) -> None:
        self.file(number).unlink(missing_ok=True)
        self._keep_names()

    def lines(self, number: int, start: int) -> Iterator[tuple[int, bytes]]:
        """The whole lines of a file from an offset on, each with its own offset."""
        with self.file(number).open("rb") as file:
            file.seek(start)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield start, line
                start += len(line)

    def line(self, number: int, offset: int, length: int) -> bytes:
        """Empty if the file has been removed meanwhile."""
        try:
            with self._naming:
                file = self.file(number).open("rb")
        except FileNotFoundError:
            return b""
        with file:
            return os.pread(file.fileno(), length, offset)

    def close(self) -> None:
        os.close(self._descriptor)
        os.close(self._lock)

    def _begin_another(self) -> None:
        full = self.path.with_name(f"{self.path.name}.{self.number:06}")
        with self._naming:
            self.path.rename(full)
            try:
                opened = _opened(self.path)
            except OSError:
                full.rename(self.path)
                raise
            os.close(self._descriptor)
            self._descriptor = opened
            self.number += 1
            self.size = 0
        self._keep_names()

    def _keep_names(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _locked(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise InUse(str(path)) from None
    return lock


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)


def _repaired(descriptor: int, path: Path) -> int:
    """Remove a last line without its end. It was never acknowledged, so its sender has it still."""
    size = os.fstat(descriptor).st_size
    end = size
    while end:
        start = max(0, end - _AT_ONCE)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end != size:
        _log.warning("removed a torn last line", file=str(path), bytes=size - end)
        os.ftruncate(descriptor, end)
        os.fsync(descriptor)
    return end


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]
