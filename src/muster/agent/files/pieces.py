"""The one way in which bytes come to files of this node, and leave them: in pieces, at offsets, so that a transfer that
was interrupted is resumed where it stopped.

A sender asks how many bytes there are, writes pieces that each begin where those end, and commits the whole by its size
and its sha256. Until then the bytes are in a partial file. A reader reads pieces, and can ask for one version of the
file only. Where the files are, who may touch them and how long a partial file is kept is decided by the callers.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, Optional

from muster.agent.errors import AgentError
from muster.agent.files.confined import looking, reading, rename
from muster.agent.files.digests import Digests
from muster.agent.files.file_errors import CHANGED, DIGEST, NOT_A_FILE
from muster.agent.files.stepwise import Work
from muster.agent.system.file_identity import is_own

MAX_WRITE_BYTES = 4 << 20
MAX_READ_BYTES = 1 << 20
_LOCKS = 16

Answer = Dict[str, Any]
Step = Callable[[], Answer]


def version(info: os.stat_result) -> str:
    """A version changes whenever the file is replaced or written to."""
    return "{:x}-{:x}-{:x}".format(info.st_ino, info.st_mtime_ns, info.st_size)


def read_piece(file: int, offset: int, limit: int, wanted: Optional[str] = None) -> Answer:
    """Read from an open file. If a version is wanted, any other one is refused."""
    info = os.fstat(file)
    if wanted is not None and wanted != version(info):
        raise AgentError(CHANGED, "the file has changed while it was read")
    data = os.pread(file, min(limit, MAX_READ_BYTES, max(0, info.st_size - offset)), offset)
    return {"data": data, "offset": offset, "size": info.st_size, "version": version(info)}


class PartialFile:
    """The part of a file that has arrived, under a name of its own in an open folder."""

    def __init__(self, name: str, folder: int, mode: int = 0o666) -> None:
        self._name = name
        self._folder = folder
        self._mode = mode

    def size(self) -> Optional[int]:
        """The number of bytes that have arrived; None if the transfer has not begun."""
        try:
            info = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(info.st_mode):
            raise AgentError(NOT_A_FILE, "something else has the name of this upload's partial file; remove it")
        return info.st_size

    def write(self, offset: int, data: bytes) -> Answer:
        """A piece that does not begin where the bytes end is not written; the answer says where they end. When the disk
        is full, what was there before stays as it was."""
        size = self.size()
        if offset != (size or 0):
            return {"size": size or 0, "written": False}
        if size is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._name, flags, self._mode, dir_fd=self._folder))
        with looking(self._name, self._folder) as fd, reading(fd, os.O_WRONLY) as file:
            _check_own(file)
            try:
                _write_all(file, data, offset)
            except OSError:
                os.ftruncate(file, offset)
                raise
        return {"size": offset + len(data), "written": True}

    def digest(self, digests: Digests) -> Work:
        with looking(self._name, self._folder) as fd:
            yield from digests.work(fd, None)

    def commit(
        self,
        target: str,
        digests: Digests,
        sha256: str,
        size: Optional[int] = None,
        overwrite: bool = True,
        executable: bool = False,
    ) -> Work:
        """Check the bytes, then give the file its name. Wrong bytes are removed. Repeating is harmless: the answer to
        an earlier commit may have been lost, so a target that has these bytes already is right."""
        found = self.size()
        if found is None:
            yield from _check(target, self._folder, digests, sha256, size)
            return
        if size is not None and found != size:
            raise AgentError(CHANGED, "{} of {} bytes have been received".format(found, size))
        try:
            yield from _check(self._name, self._folder, digests, sha256, size)
        except AgentError as error:
            if error.code == DIGEST:
                self.remove()
            raise
        with looking(self._name, self._folder) as fd, reading(fd, os.O_RDWR) as file:
            _check_own(file)
            if executable:
                mode = stat.S_IMODE(os.fstat(file).st_mode)
                os.fchmod(file, mode | (mode & 0o444) >> 2)
            os.fsync(file)
        rename(self._name, self._folder, target, self._folder, overwrite)
        _sync_folder(self._folder)
        yield {"hashed": found}

    def remove(self) -> None:
        try:
            os.unlink(self._name, dir_fd=self._folder)
        except FileNotFoundError:
            pass


class _Piece:
    def __init__(self, write: Step) -> None:
        self._write = write
        self._answer: Optional[Answer] = None
        self._error: Optional[Exception] = None

    @property
    def is_done(self) -> bool:
        return self._answer is not None or self._error is not None

    def run(self) -> None:
        try:
            self._answer = self._write()
        except Exception as error:
            self._error = error

    def answer(self) -> Answer:
        if self._error is not None:
            raise self._error
        assert self._answer is not None
        return self._answer


class PieceOrder:
    """The pieces of one partial file are written in the order in which they came, one at a time.

    Several are on their way at once, and threads take them in any order: the thread that comes first also writes the
    pieces that came before its own."""

    def __init__(self) -> None:
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._waiting: Dict[str, Deque[_Piece]] = {}
        self._waiting_lock = threading.Lock()

    def lock(self, key: str) -> threading.Lock:
        """It is held while somebody works on the partial file that has this key."""
        return self._locks[hash(key) % _LOCKS]

    def in_order(self, key: str, write: Step) -> Step:
        """Must be called when a piece arrives; returns the work for a thread."""
        piece = _Piece(write)
        with self._waiting_lock:
            self._waiting.setdefault(key, deque()).append(piece)

        def run() -> Answer:
            with self.lock(key):
                while not piece.is_done:
                    self._next(key).run()
            return piece.answer()

        return run

    def _next(self, key: str) -> _Piece:
        with self._waiting_lock:
            waiting = self._waiting[key]
            piece = waiting.popleft()
            if not waiting:
                del self._waiting[key]
            return piece


def _check(name: str, folder: int, digests: Digests, sha256: str, size: Optional[int]) -> Work:
    found: Answer = {}
    with looking(name, folder) as fd:
        if size is not None and os.fstat(fd).st_size != size:
            raise AgentError(CHANGED, "the file has another size than was sent")
        for found in digests.work(fd, None):
            yield {"hashed": found["hashed"]}
    if found["sha256"] != sha256:
        raise AgentError(DIGEST, "the bytes that arrived have sha256 {}, not {}".format(found["sha256"], sha256))


def _check_own(file: int) -> None:
    """Somebody may have put a file of theirs, or a second name of another file, where the partial file was or will
    be: its name can be guessed."""
    info = os.fstat(file)
    if info.st_nlink != 1:
        raise AgentError(NOT_A_FILE, "the partial file of this upload has other names; remove it and begin again")
    if not is_own(info):
        message = "the partial file of this upload belongs to another account; remove it and begin again"
        raise AgentError(NOT_A_FILE, message)


def _write_all(file: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(file, view, offset)
        view = view[count:]
        offset += count


def _sync_folder(folder: int) -> None:
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(fd)
    except OSError:
        pass  # some network disks cannot do this; the file itself is safe
    finally:
        os.close(fd)
