"""Archives that the server sent to this node, kept by the digest of their bytes: received in pieces, from where an
earlier try stopped, and checked as a whole before anybody may use them.

What was not used for longest goes when the store is full or the disk runs short; never what a live task needs. It knows
nothing of what is in an archive.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from collections import deque
from typing import AbstractSet, Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional

from muster.agent import requests
from muster.agent.errors import DISK_FULL, NOT_SHIPPED, PACKAGE, AgentError
from muster.agent.system import disk

MAX_PIECE_BYTES = 4 * 1024 * 1024
LIMIT_BYTES = 20 * 1024**3
DISK_SHARE = 0.2
JUST_USED_S = 60.0
"""What was touched so lately may be about to be used by a task that is not there yet."""

_READ_BYTES = 1024 * 1024
_PARTIAL = ".partial"

Answer = Dict[str, Any]
Work = Callable[[], Answer]


class _Kept(NamedTuple):
    used_at: float
    path: str
    size: int


class _Piece:
    def __init__(self, offset: int, data: bytes) -> None:
        self.offset = offset
        self.data = data
        self.answer: Optional[Answer] = None
        self.error: Optional[BaseException] = None


class BlobStore:
    """`in_use` tells the digests that live tasks need; it is asked on the loop, the work is done on threads."""

    def __init__(
        self,
        root: str,
        in_use: Callable[[], AbstractSet[str]],
        limit_bytes: int = LIMIT_BYTES,
        share: float = DISK_SHARE,
    ) -> None:
        self._blobs = os.path.join(root, "blobs")
        self._inputs = os.path.join(root, "inputs")
        self._in_use = in_use
        self._limit_bytes = limit_bytes
        self._share = share
        self._turns: Dict[str, threading.Lock] = {}
        self._pieces: Dict[str, Deque[_Piece]] = {}
        for folder in (self._blobs, self._inputs):
            os.makedirs(folder, 0o700, exist_ok=True)

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Work]]:
        return {
            "blob_stat": self._stat,
            "blob_write": self._write,
            "blob_commit": self._commit,
            "blob_drop": self._drop,
        }

    def require(self, digest: str) -> str:
        """Where it lies, used from now on. An error when the server has to send it first."""
        path = os.path.join(self._blobs, digest)
        try:
            os.utime(path)
        except FileNotFoundError:
            raise missing(digest) from None
        return path

    def input_folder(self, digest: str) -> str:
        """Where its content is unpacked to, for all tasks that read it."""
        return os.path.join(self._inputs, digest)

    def make_room(self, needed: int, in_use: AbstractSet[str]) -> None:
        """Remove what was not used for longest until so much more fits, as far as that goes."""
        kept = sorted(self._kept())
        total = sum(one.size for one in kept)
        disk = os.statvfs(self._blobs)
        limit = min(self._limit_bytes, int(disk.f_blocks * disk.f_frsize * self._share))
        excess = max(total + needed - limit, needed - disk.f_bavail * disk.f_frsize)
        for one in kept:
            if excess <= 0:
                return
            digest = os.path.basename(one.path).split(".")[0]
            if digest not in in_use and one.used_at < time.time() - JUST_USED_S:
                _remove(one.path)
                excess -= one.size

    def _stat(self, request: Mapping[str, Any]) -> Work:
        digest = requests.digest(request)
        size = requests.whole_number(request, "size", 0, 1 << 50)
        in_use = self._in_use()

        def stat() -> Answer:
            with self._turn(digest):
                found = self._found(digest)
                if not found["complete"]:
                    self.make_room(max(0, size - found["have"]), in_use | {digest})
                    self._check_room(digest, size - found["have"])
                return found

        return stat

    def _check_room(self, digest: str, needed: int) -> None:
        """Before the first piece: a transfer that fills the disk to its last byte harms all else on the node."""
        disk = os.statvfs(self._blobs)
        free = disk.f_bavail * disk.f_frsize
        if needed > free:
            _remove(self._path(digest) + _PARTIAL)
            told = "the node's disk has {} MiB free, and {} MiB are still to be sent".format(free >> 20, needed >> 20)
            raise AgentError(DISK_FULL, told)

    def _write(self, request: Mapping[str, Any]) -> Work:
        digest = requests.digest(request)
        piece = _Piece(requests.whole_number(request, "offset", 0, 1 << 50), requests.data(request, MAX_PIECE_BYTES))
        in_use = self._in_use()
        waiting = self._pieces.setdefault(digest, deque())
        waiting.append(piece)

        def write() -> Answer:
            # Several are on their way at once, and threads do not keep their order: whoever comes first writes what
            # came before its own piece too.
            with self._turn(digest):
                while piece.answer is None and piece.error is None:
                    self._take(digest, waiting.popleft(), in_use)
            if piece.error is not None:
                raise piece.error
            assert piece.answer is not None
            return piece.answer

        return write

    def _commit(self, request: Mapping[str, Any]) -> Work:
        digest = requests.digest(request)

        def commit() -> Answer:
            with self._turn(digest):
                if not self._found(digest)["complete"]:
                    self._check_and_keep(digest)
                self._pieces.pop(digest, None)
            return {"complete": True}

        return commit

    def _drop(self, request: Mapping[str, Any]) -> Work:
        digest = requests.digest(request)
        is_used = digest in self._in_use()

        def drop() -> Answer:
            with self._turn(digest):
                if not is_used:
                    for path in (self._path(digest), self._path(digest) + _PARTIAL, self.input_folder(digest)):
                        _remove(path)
            return {"dropped": not is_used}

        return drop

    def _take(self, digest: str, piece: _Piece, in_use: AbstractSet[str]) -> None:
        try:
            piece.answer = self._append(digest, piece.offset, piece.data, in_use)
        except OSError as error:
            piece.error = error

    def _append(self, digest: str, offset: int, data: bytes, in_use: AbstractSet[str]) -> Answer:
        """What does not continue the file changes nothing; the answer says where to go on."""
        found = self._found(digest)
        if found["complete"] or found["have"] != offset:
            return found
        fd = os.open(self._path(digest) + _PARTIAL, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _write_at(fd, data, offset)
        except OSError as error:
            os.ftruncate(fd, offset)
            if error.errno != errno.ENOSPC:
                raise
            self.make_room(1 << 62, in_use | {digest})
            _write_at(fd, data, offset)
        finally:
            os.close(fd)
        return {"have": offset + len(data), "complete": False}

    def _check_and_keep(self, digest: str) -> None:
        partial = self._path(digest) + _PARTIAL
        found = hashlib.sha256()
        try:
            file = open(partial, "rb")
        except FileNotFoundError:
            raise missing(digest) from None
        with file:
            for block in iter(lambda: file.read(_READ_BYTES), b""):
                found.update(block)
            if found.hexdigest() != digest:
                os.unlink(partial)
                raise AgentError(PACKAGE, "what was sent has digest {}, not {}".format(found.hexdigest(), digest))
            os.fsync(file.fileno())
        os.rename(partial, self._path(digest))

    def _found(self, digest: str) -> Answer:
        for path, complete in ((self._path(digest), True), (self._path(digest) + _PARTIAL, False)):
            try:
                size = os.stat(path, follow_symlinks=False).st_size
                os.utime(path)
            except FileNotFoundError:
                continue
            return {"have": size, "complete": complete}
        return {"have": 0, "complete": False}

    def _kept(self) -> List[_Kept]:
        found = []
        for folder in (self._blobs, self._inputs):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                size = status.st_size if folder == self._blobs else disk.size_of(path)
                found.append(_Kept(status.st_mtime, path, size))
        return found

    def _path(self, digest: str) -> str:
        return os.path.join(self._blobs, digest)

    def _turn(self, digest: str) -> threading.Lock:
        return self._turns.setdefault(digest, threading.Lock())


def missing(digest: str) -> AgentError:
    return AgentError(NOT_SHIPPED, "{} is not on this node".format(digest))


def _write_at(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def _remove(path: str) -> None:
    if os.path.isdir(path):
        disk.remove_tree(path)
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
