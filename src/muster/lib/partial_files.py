"""A file that is received in pieces. It has a temporary name until it is complete and its SHA-256 is verified, and an
interrupted transfer can be resumed.

The calls block, so asynchronous callers must use a thread.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

_READ_BYTES = 1 << 20
_HOLE_BYTES = 4096


def _ignore() -> None:
    return None


class WrongDigest(Exception):
    """The received bytes do not have the announced digest. They have been removed."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"the bytes have sha256 {found}, not {expected}")
        self.found = found
        self.expected = expected


class PartialFile:
    """Use it with `with`. A partial file that is longer than `limit` cannot be the beginning of the file, so it is
    emptied."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self._path = path
        self._limit = limit
        self._hash = hashlib.sha256()
        self._hashed = 0
        self.size = 0

    @property
    def path(self) -> Path:
        return self._path

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._path.open("a+b")
        self.size = self._file.seek(0, os.SEEK_END)
        if self._limit is not None and self.size > self._limit:
            self.clear()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def clear(self) -> None:
        """Discards what was received."""
        self.size = self._file.truncate(0)
        self._hash, self._hashed = hashlib.sha256(), 0

    def append(self, data: bytes) -> None:
        """Zeros become a hole: a sparse file is received in its full size, and would fill the disk."""
        if len(data) >= _HOLE_BYTES and not data.strip(b"\0"):
            self._file.flush()
            self._file.truncate(self.size + len(data))
        else:
            self._file.write(data)
        if self._hashed == self.size:
            self._hash.update(data)
            self._hashed += len(data)
        self.size += len(data)

    def digest(self, tell: Callable[[], None] = _ignore) -> str:
        """The SHA-256 of the received bytes. `tell` is called after each block that has to be read for it."""
        self._file.flush()
        self._file.seek(self._hashed)
        while data := self._file.read(min(_READ_BYTES, self.size - self._hashed)):
            self._hash.update(data)
            self._hashed += len(data)
            tell()
        return self._hash.hexdigest()

    def sync(self) -> None:
        """Makes the received bytes durable, so that a power failure cannot leave a complete name with half a file."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def commit(self, target: Path, sha256: str = "", mtime: float | None = None) -> str:
        """Gives the file its final name and returns its SHA-256. Raises WrongDigest if it is not the expected one."""
        found = self.digest()
        if sha256 and found != sha256:
            self._path.unlink()
            raise WrongDigest(found, sha256)
        if mtime is not None:
            os.utime(self._path, (mtime, mtime))
        target.parent.mkdir(parents=True, exist_ok=True)
        self._path.replace(target)
        return found


def sync_folder(folder: Path) -> None:
    """Makes the names in the folder durable, where a folder can be opened: Windows has no such call."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def size_of(path: Path) -> int | None:
    """The size of a partial file; None if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def digest_of(file: IO[bytes], length: int | None = None, tell: Callable[[], None] = _ignore) -> tuple[int, Any]:
    """Hashes the first `length` bytes of a file, or all of it. Returns their number and the hash object."""
    file.seek(0)
    digest = hashlib.sha256()
    done = 0
    while length is None or done < length:
        data = file.read(_READ_BYTES if length is None else min(_READ_BYTES, length - done))
        if not data:
            break
        digest.update(data)
        done += len(data)
        tell()
    return done, digest
