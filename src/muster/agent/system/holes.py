"""Drops bytes from the middle of a file that others append to. All other bytes keep their positions."""

from __future__ import annotations

import errno
import os
from typing import Optional, Tuple

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_COPY_BYTES = 1 << 20
_MOST_HOLES = 64


def found(fd: int) -> Optional[Tuple[int, int]]:
    """Where the first hole of a file begins and its last one ends; None if it has none, or if the file system cannot
    tell. A file with very many is said to end in one, so that looking for them takes a bounded time."""
    info = os.fstat(fd)
    size = info.st_size
    if info.st_blocks * 512 >= size:
        return None
    first = position = _seek(fd, 0, os.SEEK_HOLE, size)
    last = first
    for _ in range(_MOST_HOLES):
        if position >= size:
            break
        last = _seek(fd, position, os.SEEK_DATA, size)
        position = _seek(fd, last, os.SEEK_HOLE, size)
    else:
        last = size
    return (first, last) if first < last else None


def _seek(fd: int, position: int, what: int, size: int) -> int:
    try:
        return min(os.lseek(fd, position, what), size)
    except OSError as error:
        # There is neither data nor a hole behind this position, or the file system does not know.
        return size if error.errno == errno.ENXIO or what == os.SEEK_HOLE else position


def can_punch(fd: int, start: int, length: int) -> bool:
    """Give the space of these bytes back to the disk. Returns False where the file system cannot. Raises OSError."""
    import ctypes  # few logs grow so long, and it takes long to load

    libc = ctypes.CDLL(None, use_errno=True)
    fallocate = getattr(libc, "fallocate64", None) or libc.fallocate
    mode = ctypes.c_int(_PUNCH_HOLE | _KEEP_SIZE)
    if fallocate(ctypes.c_int(fd), mode, ctypes.c_longlong(start), ctypes.c_longlong(length)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number))


def save_rest(fd: int, start: int, saved: str) -> None:
    """Copy what begins at `start` into another file, which has its name only when it is complete."""
    partial = saved + ".partial"
    copy = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _copy(fd, start, copy, 0)
    finally:
        os.close(copy)
    os.rename(partial, saved)


def cut(fd: int, start: int, end: int, saved: str) -> None:
    """Cut the file at `start`, and put the saved bytes back at `end`, so that nothing is stored between the two. What
    is appended in this moment is lost."""
    os.ftruncate(fd, start)
    put_back(fd, end, saved)


def put_back(fd: int, end: int, saved: str) -> None:
    """Completes a cut, also one that was interrupted at any point."""
    copy = os.open(saved, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        whole = end + os.fstat(copy).st_size
        if os.fstat(fd).st_size < whole:
            os.ftruncate(fd, whole)
        _copy(copy, 0, fd, end)
    finally:
        os.close(copy)
    os.unlink(saved)


def _copy(source: int, position: int, target: int, target_position: int) -> None:
    while True:
        data = os.pread(source, _COPY_BYTES, position)
        if not data:
            return
        written = os.pwrite(target, data, target_position)
        position += written
        target_position += written
