"""Reads a task's log by byte position. The log is what the command wrote: any bytes, any size. The values of the task's
secrets are masked in it."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict

from muster.agent.errors import SYSTEM, AgentError
from muster.agent.files.pieces import read_piece
from muster.agent.tasks.log_limits import dropped_of
from muster.agent.tasks.logged import LoggedTask
from muster.agent.tasks.table import readable_bytes
from muster.agent.tasks.task_folder import LOG

_BLOCK_BYTES = 64 * 1024
_MOST_MASKED = 256 * 1024
"""Masking is work, and is done between other requests: a piece in which secrets are masked is small."""
_MOST_SEARCHED = 64 << 20
"""A task can make its log appear as long as it likes, with holes that cost nothing."""


def read_log(task: LoggedTask, offset: int, limit: int) -> Dict[str, Any]:
    """Read bytes from `offset` on, up to those that were dropped. There are none from the first of those on: the next
    are at the end of `dropped`. `ended` was read before the bytes: if it is set, `size` is final."""
    ended = task.over
    fd = _open(task)
    try:
        piece = read_piece(fd, offset, limit) if task.masks is None else _read_masked(fd, offset, limit, task, ended)
        # Read behind the bytes: it is recorded before they are dropped.
        dropped = dropped_of(task.folder, fd)
        if dropped is not None and offset < dropped.end:
            piece["data"] = piece["data"][: max(0, dropped.start - offset)]
        return {**piece, "ended": ended, "dropped": dropped}
    finally:
        os.close(fd)


def tail_offset(task: LoggedTask, lines: int) -> int:
    """Returns the offset at which the last `lines` lines begin, searching backwards from the end. If fewer are
    left behind the bytes that were dropped, it is where those begin."""
    fd = _open(task)
    try:
        size = os.fstat(fd).st_size
        dropped = dropped_of(task.folder, fd)
        if dropped is None:
            return line_start(fd, size, lines)
        found = line_start(fd, size, lines, dropped.end)
        return dropped.start if found == dropped.end else found
    finally:
        os.close(fd)


def line_start(fd: int, size: int, lines: int, first: int = 0) -> int:
    """Nothing before `first` is looked at, and no more than the last 64 MiB."""
    first = max(first, size - _MOST_SEARCHED)
    if lines <= 0:
        return size
    # A newline at the very end closes the last line and begins none.
    end = size - 1
    while end > first:
        start = max(first, end - _BLOCK_BYTES)
        block = os.pread(fd, end - start, start)
        found = block.count(b"\n")
        if found >= lines:
            position = len(block)
            for _ in range(lines):
                position = block.rindex(b"\n", 0, position)
            return start + position + 1
        lines -= found
        end = start
    return first


def _read_masked(fd: int, offset: int, limit: int, task: LoggedTask, ended: bool) -> Dict[str, Any]:
    """Read a piece with what is around it, because a secret may lie across its ends."""
    assert task.masks is not None
    masks, size = task.masks, os.fstat(fd).st_size
    readable = size if ended else readable_bytes(fd, size, masks)
    length = min(limit, _MOST_MASKED, max(0, readable - offset))
    start = max(0, offset - masks.margin)
    with masks.lock:
        around = os.pread(fd, min(offset - start + length + masks.margin, max(0, size - start)), start)
    is_last = ended and start + len(around) >= size
    masked = masks.masked_to_end(around) if is_last else masks.masked(around)
    return {"data": masked[offset - start : offset - start + length], "offset": offset, "size": readable}


def _open(task: LoggedTask) -> int:
    try:
        # It does not block and follows no link: the command shares this folder and may have put anything there.
        fd = os.open(os.path.join(task.folder, LOG), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise AgentError(SYSTEM, "the log of {} cannot be opened: {}".format(task.uid, error)) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise AgentError(SYSTEM, "the log of {} is not a file any more".format(task.uid))
    return fd
