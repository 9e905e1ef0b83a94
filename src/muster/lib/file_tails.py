"""Finds the last lines of a text file without reading all of it."""

import os

_BLOCK_BYTES = 64 * 1024
_MOST_SEARCHED = 64 << 20


def tail_offset(descriptor: int, size: int, lines: int, first: int = 0) -> int:
    """The offset at which the last `lines` lines of the first `size` bytes begin. Nothing before `first` is read,
    and no more than the last 64 MiB."""
    first = max(first, size - _MOST_SEARCHED)
    if lines <= 0:
        return size
    end = size - 1  # a newline at the very end terminates the last line and does not start another
    while end > first:
        start = max(first, end - _BLOCK_BYTES)
        block = os.pread(descriptor, end - start, start)
        found = block.count(b"\n")
        if found >= lines:
            position = len(block)
            for _ in range(lines):
                position = block.rindex(b"\n", 0, position)
            return start + position + 1
        lines -= found
        end = start
    return first
