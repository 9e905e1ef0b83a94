"""Finds the holes of a sparse file, which cost nothing on the disk and are read as zeros.

The agent has the same code (`agent/system/holes.py`), as it needs nothing but the standard library."""

import errno
import os

_MOST_HOLES = 64


def holes_of(descriptor: int) -> tuple[int, int] | None:
    """Where the first hole of a file begins and its last one ends; None if it has none, or if the file system cannot
    tell. A file with very many is said to end in one, so that looking for them takes a bounded time."""
    info = os.fstat(descriptor)
    size = info.st_size
    if info.st_blocks * 512 >= size:
        return None
    first = position = _seek(descriptor, 0, os.SEEK_HOLE, size)
    last = first
    for _ in range(_MOST_HOLES):
        if position >= size:
            break
        last = _seek(descriptor, position, os.SEEK_DATA, size)
        position = _seek(descriptor, last, os.SEEK_HOLE, size)
    else:
        last = size
    return (first, last) if first < last else None


def _seek(descriptor: int, position: int, what: int, size: int) -> int:
    try:
        return min(os.lseek(descriptor, position, what), size)
    except OSError as error:
        # There is neither data nor a hole behind this position, or the file system does not know.
        return size if error.errno == errno.ENXIO or what == os.SEEK_HOLE else position
