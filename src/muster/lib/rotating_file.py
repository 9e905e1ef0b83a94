"""A file of lines that never grows beyond a size: the lines before are in `NAME.1`, `NAME.2` and so on.

Writing never fails. What cannot be written, because the disk is full or the folder is away, is counted, and the first
line that can be written again is preceded by a note about it.
"""

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_MODE = 0o600
_MOST_OF_ONE_NAME = 99
_FOR_NOW = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE)
"""Errors that may end by themselves, so the file is opened later."""

LostNote = Callable[[int, str], bytes]
"""Makes the line that says how many lines were lost, and why."""


class RotatingFile:
    """Raises OSError if the path cannot be used at all. A process that finds the file in use by another one, as two
    servers in one home folder do, takes the next name: `server-2.log`."""

    def __init__(self, path: Path, max_bytes: int, keep: int, lost_note: LostNote) -> None:
        self._max_bytes = max_bytes
        self._keep = keep
        self._lost_note = lost_note
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._is_torn = False
        self._lost = 0
        self._why = ""
        self.path = path
        self._claim(path)

    def write(self, line: bytes) -> None:
        """`line` ends with a newline."""
        with self._lock:
            try:
                self._prepare(len(line))
                self._put(line)
            except OSError as error:
                self._lost += 1
                self._why = error.strerror or str(error)

    def close(self) -> None:
        with self._lock:
            self._leave()

    def _claim(self, path: Path) -> None:
        for number in range(1, _MOST_OF_ONE_NAME + 1):
            self.path = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
            try:
                self._open()
                return
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno in _FOR_NOW:
                    return
                raise
        raise FileExistsError(errno.EEXIST, "all names are in use by other processes", str(path))

    def _open(self) -> None:
        opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, _MODE)
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise FileExistsError(errno.EEXIST, "this is not a file", str(self.path))
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(PermissionError):  # another account may have made it, and let this one write
                os.fchmod(opened, _MODE)
        except OSError:
            os.close(opened)
            raise
        self._descriptor = opened

    def _leave(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _prepare(self, length: int) -> None:
        """Open the file anew if somebody has moved or removed it, and begin another one if it is full."""
        if self._descriptor is not None and not self._is_in_place(self._descriptor):
            self._leave()
        if self._descriptor is None:
            self._open()
            self._is_torn = False
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        if size and size + length > self._max_bytes:
            self._rotate()

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        for number in range(self._keep, 0, -1):
            with suppress(FileNotFoundError):
                rotated(self.path, number - 1).replace(rotated(self.path, number))
        if not self._keep:
            self.path.unlink()
        self._leave()
        self._open()
        self._is_torn = False

    def _put(self, line: bytes) -> None:
        assert self._descriptor is not None
        note = self._lost_note(self._lost, self._why) if self._lost else b""
        data = (b"\n" if self._is_torn else b"") + note + line
        written = os.write(self._descriptor, data)
        if written < len(data):
            self._is_torn = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._is_torn = False
        self._lost = 0


def rotated(path: Path, number: int) -> Path:
    """The file that was full `number` files ago; 0 is the file itself."""
    return path if number == 0 else path.with_name(f"{path.name}.{number}")
