"""Reads the lines of a file that is rotated while it is read (`lib/rotating_file.py`)."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muster.lib.file_tails import tail_offset
from muster.lib.rotating_file import rotated

_PIECE_BYTES = 256 * 1024
_POSITION = re.compile(r"([0-9]{1,20})-([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Position:
    """The end of a line: it stays valid when the file is rotated."""

    inode: int
    offset: int

    def __str__(self) -> str:
        return f"{self.inode}-{self.offset}"

    @classmethod
    def parse(cls, text: str) -> "Position | None":
        found = _POSITION.fullmatch(text)
        return cls(int(found[1]), int(found[2])) if found else None


NOWHERE = Position(0, 0)
"""The position before the oldest line that is kept."""


def position_before(path: Path, lines: int) -> Position:
    """The position before the last `lines` lines."""
    with _opened(path) as files:
        position = NOWHERE
        for inode, descriptor in reversed(files):
            size = os.fstat(descriptor).st_size
            start = tail_offset(descriptor, size, lines)
            position = Position(inode, start)
            if start > 0 or lines <= 0:
                break
            lines -= _count(descriptor, size)
        return position


def lines_after(path: Path, position: Position) -> list[tuple[bytes, Position]]:
    """The complete lines after the position, each with the position after it: some of them, if there are many. A
    position in a file that has been removed meanwhile counts as the beginning of the oldest one."""
    with _opened(path) as files:
        inodes = [inode for inode, _ in files]
        first = inodes.index(position.inode) if position.inode in inodes else 0
        for at, (inode, descriptor) in enumerate(files[first:], first):
            start = position.offset if inode == position.inode else 0
            found = _lines(descriptor, inode, start, is_last=at == len(files) - 1)
            if found:
                return found
    return []


def _lines(descriptor: int, inode: int, start: int, *, is_last: bool) -> list[tuple[bytes, Position]]:
    """The last line of a file that is no longer written counts even if its end is missing."""
    data = os.pread(descriptor, _PIECE_BYTES, start)
    while data and b"\n" not in data and (more := os.pread(descriptor, _PIECE_BYTES, start + len(data))):
        data += more
    *lines, rest = data.split(b"\n")
    found = []
    for line in lines:
        start += len(line) + 1
        found.append((line, Position(inode, start)))
    if rest and not lines and not is_last:
        found.append((rest, Position(inode, start + len(rest))))
    return found


def _count(descriptor: int, size: int) -> int:
    blocks = (os.pread(descriptor, _PIECE_BYTES, start) for start in range(0, size, _PIECE_BYTES))
    return sum(block.count(b"\n") for block in blocks)


@contextmanager
def _opened(path: Path) -> Iterator[list[tuple[int, int]]]:
    """Inodes and descriptors, oldest first. The newest is opened first: a rotation meanwhile shows a file twice, but
    hides none."""
    found: dict[int, int] = {}
    try:
        number = 0
        while True:
            try:
                descriptor = os.open(rotated(path, number), os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                if number > 0:
                    break
            else:
                inode = os.fstat(descriptor).st_ino
                if inode in found:
                    os.close(descriptor)
                else:
                    found[inode] = descriptor
            number += 1
        yield list(reversed(found.items()))
    finally:
        for descriptor in found.values():
            os.close(descriptor)
