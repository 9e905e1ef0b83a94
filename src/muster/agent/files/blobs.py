"""Archives that the server sent to this node. Each is kept under the digest of its bytes, and is received by the
protocol of `pieces`.

When the store is full or the disk runs short, the archives that were not used for longest are removed, but never one
that a live task needs. This module knows nothing of what is in an archive.
"""

from __future__ import annotations

import errno
import os
import time
from typing import AbstractSet, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple

from muster.agent import requests
from muster.agent.errors import DISK_FULL, NOT_SHIPPED, PACKAGE, AgentError
from muster.agent.files.confined import Walk, exists
from muster.agent.files.digests import Digests
from muster.agent.files.file_errors import DIGEST
from muster.agent.files.pieces import MAX_WRITE_BYTES, Answer, PartialFile, PieceOrder, Step
from muster.agent.files.stepwise import Runs, Work
from muster.agent.system import disk
from muster.agent.system.removal import remove_tree

LIMIT_BYTES = 20 * 1024**3
DISK_SHARE = 0.2
JUST_USED_S = 60.0
"""An archive that was used so recently may be about to be used by a task that is not there yet."""

_PARTIAL = ".partial"


class _Kept(NamedTuple):
    used_at: float
    path: str
    size: int


class BlobStore:
    """`in_use` returns the digests that live tasks need. It is called on the loop; the work is done on threads."""

    def __init__(
        self,
        root: str,
        in_use: Callable[[], AbstractSet[str]],
        limit_bytes: int = LIMIT_BYTES,
        share: float = DISK_SHARE,
    ) -> None:
        self._blobs = os.path.join(root, "blobs")
        self._inputs = os.path.join(root, "inputs")
        self._input_records = os.path.join(root, "input-records")
        self._in_use = in_use
        self._limit_bytes = limit_bytes
        self._share = share
        self._order = PieceOrder()
        self._runs = Runs()
        self._digests = Digests()
        for folder in (self._blobs, self._inputs, self._input_records):
            os.makedirs(folder, 0o700, exist_ok=True)

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Step]]:
        return {
            "blob_stat": self._stat,
            "blob_write": self._write,
            "blob_commit": self._commit,
            "blob_drop": self._drop,
        }

    def require(self, digest: str) -> str:
        """The path of the archive, which counts as used from now on. An error if the server has to send it first."""
        path = os.path.join(self._blobs, digest)
        try:
            os.utime(path)
        except FileNotFoundError:
            raise missing(digest) from None
        return path

    def input_folder(self, digest: str, secret: str = "") -> str:
        """The folder that its content is unpacked to, for all tasks that read it; or for those of one account, which
        alone knows the secret in its name."""
        return os.path.join(self._inputs, "{}.{}".format(digest, secret) if secret else digest)

    def input_record(self, content: str) -> str:
        """The file that says what the folder was like when it had been unpacked."""
        return os.path.join(self._input_records, os.path.basename(content))

    def make_room(self, needed: int, in_use: AbstractSet[str]) -> None:
        """Remove what was not used for longest, until `needed` more bytes fit or nothing more can be removed."""
        kept = sorted(self._kept())
        total = sum(one.size for one in kept)
        filesystem = os.statvfs(self._blobs)
        limit = min(self._limit_bytes, int(filesystem.f_blocks * filesystem.f_frsize * self._share))
        excess = max(total + needed - limit, needed - filesystem.f_bavail * filesystem.f_frsize)
        for one in kept:
            if excess <= 0:
                return
            digest = os.path.basename(one.path).split(".")[0]
            if digest not in in_use and one.used_at < time.time() - JUST_USED_S:
                _remove(one.path)
                _remove(self.input_record(one.path))
                excess -= one.size

    def _stat(self, request: Mapping[str, Any]) -> Step:
        digest = requests.digest(request)
        size = requests.whole_number(request, "size", 0, 1 << 50)
        in_use = self._in_use()

        def stat() -> Answer:
            with self._order.lock(digest), Walk(self._blobs) as walk:
                if exists(digest, walk.fd):
                    return {"size": self._touched(digest), "complete": True}
                received = self._partial(digest, walk.fd).size()
                if received is not None:
                    self._touched(digest + _PARTIAL)
                needed = size - (received or 0)
                self.make_room(max(0, needed), in_use | {digest})
                self._check_room(digest, needed)
                return {"size": received, "complete": False}

        return stat

    def _check_room(self, digest: str, needed: int) -> None:
        """This comes before the first piece: a transfer that fills the disk to its last byte harms all else there."""
        filesystem = os.statvfs(self._blobs)
        free = filesystem.f_bavail * filesystem.f_frsize
        if needed > free:
            _remove(self._path(digest) + _PARTIAL)
            message = "the node's disk has {} MiB free, and {} MiB are still to be sent".format(
                free >> 20, needed >> 20
            )
            raise AgentError(DISK_FULL, message)

    def _write(self, request: Mapping[str, Any]) -> Step:
        digest = requests.digest(request)
        offset = requests.whole_number(request, "offset", 0, 1 << 50)
        data = requests.data(request, MAX_WRITE_BYTES)
        in_use = self._in_use()
        return self._order.in_order(digest, lambda: self._append(digest, offset, data, in_use))

    def _append(self, digest: str, offset: int, data: bytes, in_use: AbstractSet[str]) -> Answer:
        with Walk(self._blobs) as walk:
            if exists(digest, walk.fd):
                return {"size": self._touched(digest), "written": False}
            partial = self._partial(digest, walk.fd)
            try:
                return partial.write(offset, data)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            self.make_room(1 << 62, in_use | {digest})
            return partial.write(offset, data)

    def _commit(self, request: Mapping[str, Any]) -> Step:
        digest = requests.digest(request)
        return lambda: self._runs.step(digest, lambda: self._check_and_keep(digest))

    def _check_and_keep(self, digest: str) -> Work:
        with Walk(self._blobs) as walk:
            try:
                yield from self._partial(digest, walk.fd).commit(digest, self._digests, digest)
            except FileNotFoundError:
                raise missing(digest) from None
            except AgentError as error:
                if error.code != DIGEST:
                    raise
                raise AgentError(PACKAGE, error.message) from None

    def _drop(self, request: Mapping[str, Any]) -> Step:
        digest = requests.digest(request)
        is_used = digest in self._in_use()

        def drop() -> Answer:
            with self._order.lock(digest):
                if not is_used:
                    for path in (self._path(digest), self._path(digest) + _PARTIAL, *self._unpacked(digest)):
                        _remove(path)
            return {"dropped": not is_used}

        return drop

    def _unpacked(self, digest: str) -> Iterator[str]:
        """The folders that the archive was unpacked to, and their records."""
        for folder in (self._inputs, self._input_records):
            for name in os.listdir(folder):
                if name.split(".")[0] == digest:
                    yield os.path.join(folder, name)

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

    def _partial(self, digest: str, folder: int) -> PartialFile:
        return PartialFile(digest + _PARTIAL, folder, 0o600)

    def _touched(self, name: str) -> int:
        """Marks the archive as used now, and returns its size."""
        path = os.path.join(self._blobs, name)
        os.utime(path)
        return os.stat(path, follow_symlinks=False).st_size


def missing(digest: str) -> AgentError:
    return AgentError(NOT_SHIPPED, "{} is not on this node".format(digest))


def _remove(path: str) -> None:
    if os.path.isdir(path):
        remove_tree(path)
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
