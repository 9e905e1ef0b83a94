"""Finds the end of a text file without reading the whole."""

import os

_BLOCK_BYTES = 64 * 1024


def tail_offset(descriptor: int, size: int, lines: int) -> int:
    """Where the last `lines` lines of the first `size` bytes begin."""
    if lines <= 0:
        return size
    end = size - 1  # a newline at the very end closes the last line and begins none
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        block = os.pread(descriptor, end - start, start)
        found = block.count(b"\n")
        if found >= lines:
            position = len(block)
            for _ in range(lines):
                position = block.rindex(b"\n", 0, position)
            return start + position + 1
        lines -= found
        end = start
    return 0
