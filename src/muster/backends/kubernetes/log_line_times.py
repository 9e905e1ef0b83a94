"""When the lines of a log were written, as the kubelet says: one mark for each second in which there were lines."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muster.agent.tasks.log_times import MarkFile, marks_of, read_marks
from muster.domain.log_times import LogTimes

_SECOND = len("2026-11-16T10:00:00")


class LineTimes:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = MarkFile(str(path))
        self._stamp, self._length = "", 0  # of the last line, which is marked when its second is over

    def line(self, stamp: str, length: int) -> None:
        """A line was written at this time, and the log has this length with it."""
        if stamp[:_SECOND] != self._stamp[:_SECOND]:
            self.write()
        self._stamp, self._length = stamp, length

    def write(self) -> None:
        """Leaves the mark out on a full disk: the log is as good without it."""
        if not self._stamp:
            return
        with suppress(OSError):
            self._file.add(_milliseconds(self._stamp), self._length)

    def known(self) -> LogTimes:
        self.write()
        return LogTimes.of(marks_of(read_marks(str(self._path))))

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        self._file = MarkFile(str(self._path))
        self._stamp, self._length = "", 0


def _milliseconds(stamp: str) -> int:
    """Nodes of a cluster may write their times in another zone, and with any number of digits."""
    at = datetime.fromisoformat(stamp)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
