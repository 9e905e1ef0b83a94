"""Copies, removes and counts whole trees. Each walk goes through open folders only, follows no link on its way down,
and pauses after every piece (see `stepwise`)."""

from __future__ import annotations

import os
import stat
from typing import Dict

from muster.agent.errors import BAD_REQUEST, AgentError
from muster.agent.files.confined import MAX_DEPTH, Place, Walk, exists, listing, looking, reading, rename, too_deep
from muster.agent.files.file_errors import EXISTS, IS_A_FOLDER, NOT_A_FILE, NOT_EMPTY
from muster.agent.files.leftovers import PARTIAL_PREFIX, is_ours
from muster.agent.files.stepwise import Work

_PIECE_BYTES = 1 << 20


class _Tally:
    """The progress of the operation."""

    def __init__(self) -> None:
        self.bytes = self.files = self.folders = self.skipped = self.unfinished = 0

    def answer(self) -> Dict[str, int]:
        return {
            "bytes": self.bytes,
            "files": self.files,
            "folders": self.folders,
            "skipped": self.skipped,
            "unfinished": self.unfinished,
        }


def usage(place: Place) -> Work:
    tally = _Tally()
    with Walk(place.root) as walk:
        fd = walk.find(place.parts)
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            yield from _count(fd, tally, 0)
        else:
            tally.files, tally.bytes = 1, os.fstat(fd).st_size
    yield tally.answer()


def remove(place: Place, recursive: bool) -> Work:
    """A link is removed, never what it leads to."""
    name = place.name
    tally = _Tally()
    with Walk(place.root) as walk:
        folder = walk.enter(place.parts[:-1])
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            if recursive:
                yield from _empty(folder, name, tally, 0)
            elif _has_only_uploads(folder, name):
                raise AgentError(NOT_EMPTY, "the folder holds only uploads that nobody has finished")
            os.rmdir(name, dir_fd=folder)
            tally.folders += 1
        else:
            os.unlink(name, dir_fd=folder)
            tally.files += 1
    yield tally.answer()


def copy(source: Place, target: Place, key: str, recursive: bool, overwrite: bool) -> Work:
    """`key` names the partial file of what is being copied. Links below the source are copied as links."""
    tally = _Tally()
    name = target.name
    with Walk(source.root) as here, Walk(target.root) as there:
        fd = here.find(source.parts)
        mode = os.fstat(fd).st_mode
        folder = there.enter(target.parts[:-1])
        if not overwrite and exists(name, folder):
            raise AgentError(EXISTS, "it exists already")
        copying = _Copying(tally, key, overwrite)
        if stat.S_ISREG(mode):
            yield from copying.file(fd, folder, name)
        elif not stat.S_ISDIR(mode):
            raise AgentError(NOT_A_FILE, "it is not an ordinary file; devices, pipes and sockets are left alone")
        elif not recursive:
            raise AgentError(IS_A_FOLDER, "it is a folder")
        elif there.passes(os.fstat(fd)):
            raise AgentError(BAD_REQUEST, "a folder cannot be copied into itself")
        else:
            yield from copying.folder(fd, folder, name, 0)
    yield tally.answer()


class _Copying:
    def __init__(self, tally: _Tally, key: str, overwrite: bool) -> None:
        self._tally = tally
        self._partial = PARTIAL_PREFIX + key
        self._overwrite = overwrite

    def folder(self, source: int, target: int, name: str, depth: int) -> Work:
        if depth > MAX_DEPTH:
            raise too_deep()
        with listing(source) as from_fd:
            try:
                os.mkdir(name, 0o777, dir_fd=target)
            except FileExistsError:
                if not self._overwrite:
                    raise
            self._tally.folders += 1
            with listing(target, name) as to_fd:
                for entry in os.listdir(from_fd):
                    if is_ours(entry):
                        continue
                    with looking(entry, from_fd) as fd:
                        yield from self._entry(fd, to_fd, entry, depth)
                    yield self._tally.answer()

    def file(self, source: int, target: int, name: str) -> Work:
        with reading(source) as file:
            yield from self._content(file, target, name)

    def _content(self, file: int, target: int, name: str) -> Work:
        _drop(self._partial, target)
        mode = stat.S_IMODE(os.fstat(file).st_mode) & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        copy_fd = os.open(self._partial, flags, mode, dir_fd=target)
        try:
            while True:
                data = os.read(file, _PIECE_BYTES)
                if not data:
                    break
                _write_all(copy_fd, data)
                self._tally.bytes += len(data)
                yield self._tally.answer()
            os.fsync(copy_fd)
            rename(self._partial, target, name, target, self._overwrite)
        except BaseException:
            _drop(self._partial, target)
            raise
        finally:
            os.close(copy_fd)
        self._tally.files += 1

    def _entry(self, fd: int, target: int, name: str, depth: int) -> Work:
        mode = os.fstat(fd).st_mode
        if not _may_read(fd, mode):
            self._tally.skipped += 1
        elif stat.S_ISDIR(mode):
            yield from self.folder(fd, target, name, depth + 1)
        elif stat.S_ISREG(mode):
            yield from self.file(fd, target, name)
        elif stat.S_ISLNK(mode):
            if self._overwrite:
                _drop(name, target)
            os.symlink(os.readlink("", dir_fd=fd), name, dir_fd=target)
            self._tally.files += 1
        else:
            self._tally.skipped += 1


def _may_read(fd: int, mode: int) -> bool:
    """Returns whether this file or folder, which was opened without the right to read it, may be read."""
    try:
        if stat.S_ISDIR(mode):
            with listing(fd):
                return True
        if stat.S_ISREG(mode):
            with reading(fd):
                return True
    except PermissionError:
        return False
    return True


def _count(folder: int, tally: _Tally, depth: int) -> Work:
    tally.folders += 1
    if depth > MAX_DEPTH:
        tally.skipped += 1
        return
    try:
        with listing(folder) as fd:
            names = os.listdir(fd)
    except PermissionError:
        tally.skipped += 1
        return
    for name in names:
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                with looking(name, folder) as below:
                    # It may have been replaced since; what is no folder now is not listed.
                    if stat.S_ISDIR(os.fstat(below).st_mode):
                        yield from _count(below, tally, depth + 1)
            elif name.startswith(PARTIAL_PREFIX):
                tally.unfinished += info.st_size
            elif not is_ours(name):
                tally.files += 1
                tally.bytes += info.st_size
        except FileNotFoundError:
            continue
        yield tally.answer()


def _has_only_uploads(parent: int, name: str) -> bool:
    with listing(parent, name) as fd:
        names = os.listdir(fd)
    return bool(names) and all(entry.startswith(PARTIAL_PREFIX) for entry in names)


def _empty(parent: int, name: str, tally: _Tally, depth: int) -> Work:
    if depth > MAX_DEPTH:
        raise too_deep()
    with listing(parent, name) as fd:
        for entry in os.listdir(fd):
            try:
                info = os.stat(entry, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode):
                    yield from _empty(fd, entry, tally, depth + 1)
                    os.rmdir(entry, dir_fd=fd)
                    tally.folders += 1
                else:
                    os.unlink(entry, dir_fd=fd)
                    tally.files += 1
                    tally.bytes += info.st_size
            except FileNotFoundError:
                continue
            yield tally.answer()


def _drop(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
