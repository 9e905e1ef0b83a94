"""Bytes in and out of files: reading by position, and writing to a partial file beside the target, which takes its
place only when it is whole and its digest is right."""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import Any, Dict, Optional

from muster.agent.errors import AgentError
from muster.agent.files.confined import Place, Walk, exists, looking, reading, rename
from muster.agent.files.digests import Digests
from muster.agent.files.file_errors import CHANGED, DIGEST, EXISTS, NOT_A_FILE
from muster.agent.files.leftovers import PARTIAL_PREFIX, Leftovers
from muster.agent.files.stepwise import Work

MAX_READ_BYTES = 1 << 20
_LOCKS = 16

Answer = Dict[str, Any]


def version(info: os.stat_result) -> str:
    """Another one whenever the file is another or was written to."""
    return "{:x}-{:x}-{:x}".format(info.st_ino, info.st_mtime_ns, info.st_size)


def read(place: Place, offset: int, limit: int, wanted: Optional[str]) -> Answer:
    with Walk(place.root) as walk, reading(walk.find(place.parts)) as file:
        info = os.fstat(file)
        if wanted is not None and wanted != version(info):
            raise AgentError(CHANGED, "the file has changed while it was read")
        data = os.pread(file, min(limit, MAX_READ_BYTES), offset)
    return {
        "data": data,
        "size": info.st_size,
        "version": version(info),
        "mode": stat.S_IMODE(info.st_mode),
    }


class Uploads:
    """Pieces of one upload take turns; different ones do not wait for each other."""

    def __init__(self, digests: Digests, leftovers: Leftovers) -> None:
        self._digests = digests
        self._leftovers = leftovers
        self._turns = [threading.Lock() for _ in range(_LOCKS)]

    def received(self, place: Place, upload: str) -> Answer:
        with Walk(place.root) as walk:
            folder = walk.enter(place.parts[:-1])
            self._leftovers.keep(_partial(upload), folder)
            return {"size": _size(upload, folder)}

    def write(self, place: Place, upload: str, offset: int, data: bytes, overwrite: bool) -> Answer:
        """A piece that does not begin where the bytes end is not written: the answer says where they end."""
        with Walk(place.root) as walk:
            folder = walk.enter(place.parts[:-1])
            if not overwrite and exists(place.name, folder):
                raise AgentError(EXISTS, "it exists already")
            if offset == 0:
                self._leftovers.remove_old(folder, self._turn)
            with self._turn(_partial(upload)):
                size = _size(upload, folder)
                if offset != (size or 0):
                    return {"size": size or 0, "written": False}
                if size is None:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                    os.close(os.open(_partial(upload), flags, 0o666, dir_fd=folder))
                with looking(_partial(upload), folder) as fd, reading(fd, os.O_WRONLY) as file:
                    _only_ours(file)
                    self._append(file, data, offset, _partial(upload), folder)
            return {"size": offset + len(data), "written": True}

    def commit(self, place: Place, upload: str, size: int, sha256: str, overwrite: bool, executable: bool) -> Work:
        with Walk(place.root) as walk:
            folder = walk.enter(place.parts[:-1])
            found = _size(upload, folder)
            if found is None:
                # The answer to an earlier commit may have been lost.
                yield from self._check(place.name, folder, size, sha256)
                return
            if found != size:
                raise AgentError(CHANGED, "{} of {} bytes have been received".format(found, size))
            self._leftovers.keep(_partial(upload), folder)
            try:
                yield from self._check(_partial(upload), folder, size, sha256)
            except AgentError as error:
                if error.code == DIGEST:
                    os.unlink(_partial(upload), dir_fd=folder)
                raise
            with looking(_partial(upload), folder) as fd, reading(fd, os.O_RDWR) as file:
                _only_ours(file)
                if executable:
                    mode = stat.S_IMODE(os.fstat(file).st_mode)
                    os.fchmod(file, mode | (mode & 0o444) >> 2)
                os.fsync(file)
            rename(_partial(upload), folder, place.name, folder, overwrite)
            _sync_folder(folder)
            yield {"hashed": size}

    def abort(self, place: Place, upload: str) -> Answer:
        with Walk(place.root) as walk, self._turn(_partial(upload)):
            try:
                os.unlink(_partial(upload), dir_fd=walk.enter(place.parts[:-1]))
            except FileNotFoundError:
                pass
        return {}

    def part_digest(self, place: Place, upload: str) -> Work:
        with Walk(place.root) as walk, looking(_partial(upload), walk.enter(place.parts[:-1])) as fd:
            yield from self._digests.work(fd, None)

    def _append(self, file: int, data: bytes, offset: int, partial: str, folder: int) -> None:
        try:
            _write_all(file, data, offset)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                os.unlink(partial, dir_fd=folder)  # half a file must not keep a disk full on which tasks run
            raise

    def _turn(self, partial: str) -> threading.Lock:
        return self._turns[hash(partial) % _LOCKS]

    def _check(self, name: str, folder: int, size: int, sha256: str) -> Work:
        found: Answer = {}
        with looking(name, folder) as fd:
            if os.fstat(fd).st_size != size:
                raise AgentError(CHANGED, "the file has another size than was sent")
            for found in self._digests.work(fd, None):
                yield {"hashed": found["hashed"]}
        if found["sha256"] != sha256:
            raise AgentError(DIGEST, "the bytes that arrived have sha256 {}, not {}".format(found["sha256"], sha256))


def _partial(upload: str) -> str:
    return PARTIAL_PREFIX + upload


def _size(upload: str, folder: int) -> Optional[int]:
    try:
        info = os.stat(_partial(upload), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(info.st_mode):
        raise AgentError(NOT_A_FILE, "something else is in the place of this upload's partial file; remove it")
    return info.st_size


def _only_ours(file: int) -> None:
    """Somebody may have put a second name of another file where our partial one was."""
    if os.fstat(file).st_nlink != 1:
        raise AgentError(NOT_A_FILE, "the partial file of this upload has other names; remove it and begin again")


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
        pass  # some network disks cannot; the file itself is safe
    finally:
        os.close(fd)
