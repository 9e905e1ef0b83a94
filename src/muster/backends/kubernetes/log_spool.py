"""The log of one task on the server's disk, as it arrives line by line from the API server.

Kubernetes knows no positions in a log, only the time of each line. So that positions stay what they were, also after a
restart of the server, a cursor next to the log says how far it is complete and at which time.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

from muster.agent.system.holes import can_punch
from muster.agent.tasks.masking import Masks
from muster.backends.kubernetes.log_line_times import LineTimes
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.log_times import LogTimes

_LONGEST_LINE = 1 << 20
_FRACTION = re.compile(r"\.[0-9]+")
_TIME = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")
_KUBELET_ERROR = re.compile(rb"unable to retrieve container logs for [a-z0-9.-]+://[0-9a-f]*$")
"""What the kubelet writes at the end of the stream, even behind an unfinished line, if the container is gone."""
_CURSOR_APART_S = 1.0


class LogSpool:
    """Takes the bytes of a stream with a timestamp before each line, and keeps the lines without it.

    The kubelet reports errors in the stream itself, as text. That has no timestamp, and is left out: it is not output.
    """

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self.path = path
        self.size = 0
        """The length of the log, with what was dropped of it."""
        self.dropped: DroppedBytes | None = None
        self._limit = limit
        self.has_ended = asyncio.Event()
        """Set when the task has ended, so that nothing more will be written than what is written already."""
        self.rest_until = 0.0
        """The time, by the event loop's clock, until which readers wait for the rest of the log of an ended task."""
        self.is_complete = asyncio.Event()
        """Set when all that the task wrote is here, or as much as there will ever be."""
        self.masks = Masks(())
        self._rest = b""
        self._skipping = 0
        """How many lines from the one of the latest time on come again."""
        self._is_cut, self._is_cut_new = False, False
        self._last, self._since_last = "", 0
        """The latest time of a line, and how many lines have come from the first one of that time on. Lines may
        overtake each other: the runtime notes their times before it writes those of both streams one by one."""
        self._written_at = 0.0
        self._grown = asyncio.Event()
        self._file: int | None = None
        self._times = LineTimes(path.with_suffix(".times"))
        self._restore()

    @property
    def since(self) -> str:
        """The time from which the rest of the log is asked for; empty at its beginning. The API server knows whole
        seconds, so that lines come again that are here already."""
        return _FRACTION.sub("", self._last)

    def begin(self) -> None:
        """A new stream begins, at `since`."""
        self._rest = b""
        self._is_cut = False
        self._skipping = self._since_last

    def feed(self, data: bytes) -> None:
        """Take what has come. If it cannot be written, it counts as not come, and the stream has to begin again."""
        *lines, rest = (self._rest + data).split(b"\n")
        is_too_long = len(rest) > _LONGEST_LINE
        if is_too_long:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        before = self._last, self._since_last
        new, marks, length = [], [], self.size
        for line in lines:
            text = self._continued(line) if self._is_cut else self._new(line)
            self._is_cut = False
            if text is not None:
                new.append(self._masked(text))
                length += len(new[-1])
                marks.append((self._last, length))
        if is_too_long:
            self._is_cut, self._is_cut_new = True, text is not None
        try:
            self._append(b"".join(new))
        except OSError:
            self._last, self._since_last = before
            raise
        for mark in marks:
            self._times.line(*mark)
        if new:
            self._has_grown()

    def end(self) -> None:
        """The stream has ended: what is left of it is a line, too."""
        self._rest = _KUBELET_ERROR.sub(b"", self._rest)
        if self._rest:
            self.feed(b"\n")

    def times(self) -> LogTimes:
        return self._times.known()

    async def growth(self) -> AsyncGenerator[int]:
        """Yields the size now and whenever it has grown, and ends when the log is complete."""
        last = -1
        while True:
            changed, is_complete = self._grown, self.is_complete.is_set()
            if self.size != last:
                last = self.size
                yield last
            if is_complete:
                return
            await changed.wait()

    def complete(self) -> None:
        self.is_complete.set()
        self._wake()
        self.close()

    def close(self) -> None:
        if self._file is not None:
            self._write_cursor()
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        self.complete()
        for path in (self.path, self._cursor):
            path.unlink(missing_ok=True)
        self._times.remove()

    @property
    def _cursor(self) -> Path:
        return self.path.with_suffix(".cursor")

    def _new(self, line: bytes) -> bytes | None:
        """The line without its time; None if it is here already, or is none of the task."""
        time, _, text = line.partition(b" ")
        if not _TIME.fullmatch(time):
            return None
        stamp = time.decode("ascii", "replace")
        if self._skipping and stamp <= self._last:
            if stamp == self._last or self._skipping < self._since_last:
                self._skipping -= 1
            return None
        self._skipping = 0
        if stamp > self._last:
            self._last, self._since_last = stamp, 0
        self._since_last += 1
        return text + b"\n"

    def _continued(self, line: bytes) -> bytes | None:
        """The rest of a line that was too long to be taken at once. It has no time of its own."""
        return line + b"\n" if self._is_cut_new else None

    def _masked(self, text: bytes) -> bytes:
        return self.masks.masked(text)

    def _append(self, data: bytes) -> None:
        """Write all of it, or nothing."""
        if not data:
            return
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(data)

    def _has_grown(self) -> None:
        self._keep_limit()
        now = asyncio.get_running_loop().time()
        if now - self._written_at > _CURSOR_APART_S:
            self._written_at = now
            self._write_cursor()
        self._wake()

    def _keep_limit(self) -> None:
        """Drop the middle of a log that has become too long, and more than needed: this is not for every line."""
        kept = self.size - (self.dropped.length if self.dropped else 0)
        if self._limit is None or kept <= self._limit or self._file is None:
            return
        dropped = DroppedBytes.beyond(self._limit - self._limit // 8, self.size, self.dropped)
        if dropped is not None and can_punch(self._file, dropped.start, dropped.length):
            self.dropped = dropped

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    def _write_cursor(self) -> None:
        """Leaves the former cursor there on a full disk: what came after it is fetched again."""
        self._times.write()
        cursor: dict[str, Any] = {"size": self.size, "last": self._last, "repeats": self._since_last}
        if self.dropped is not None:
            cursor["dropped"] = [self.dropped.start, self.dropped.end]
        partial = self._cursor.with_suffix(".partial")
        with suppress(OSError):
            partial.write_text(json.dumps(cursor))
            partial.rename(self._cursor)

    def _restore(self) -> None:
        """Continue from the cursor. What was written after it is fetched again."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            cursor = json.loads(self._cursor.read_text())
            size = min(int(cursor["size"]), self.path.stat().st_size)
            if size == cursor["size"]:
                os.truncate(self.path, size)
                self.size, self._last, self._since_last = size, str(cursor["last"]), int(cursor["repeats"])
                self.dropped = DroppedBytes.reported(cursor.get("dropped"))
                return
        self.path.unlink(missing_ok=True)
        self._times.remove()
