"""Finds a path inside a root without ever leaving it, whatever others change meanwhile.

Every step opens one name below a folder that is already open, and never through a link: links are read from the very
thing that was opened, and resolved here. Nothing is looked up twice by its path, so there is no moment between a check
and its use. Devices, pipes and sockets are only looked at, never opened.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Deque, Iterator, List, Optional, Tuple, Type

from muster.agent.errors import BAD_REQUEST, AgentError
from muster.agent.files.file_errors import EXISTS, IS_A_FOLDER, NOT_A_FILE, NOT_A_FOLDER, OUTSIDE, TOO_DEEP
from muster.agent.system.file_identity import acting_as_agent

MAX_DEPTH = 64
"""Each level costs an open descriptor while it is walked."""
_MAX_LINKS = 40
_ROOT = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_REPLACE = 1
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


@dataclass(frozen=True)
class Place:
    """A path below a root. An admin chose the root, and it may lead through links; nothing below it is trusted."""

    root: str
    parts: Tuple[str, ...]

    @property
    def name(self) -> str:
        if not self.parts:
            raise AgentError(BAD_REQUEST, "this is the folder itself, not something in it")
        return self.parts[-1]


def place(root: str, path: str) -> Place:
    if not os.path.isabs(root) or "\0" in root:
        raise AgentError(BAD_REQUEST, "a root must be an absolute path")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise AgentError(BAD_REQUEST, "the path is not text") from None
    if "\0" in path:
        raise AgentError(BAD_REQUEST, "a path cannot contain a zero byte")
    parts = _parts(path)
    if ".." in parts:
        raise AgentError(OUTSIDE, "a path may not contain '..'")
    if len(parts) > MAX_DEPTH:
        raise too_deep()
    return Place(root, tuple(parts))


class Walk:
    """The open folders from the root down to the current one. Going up is going back, never a look-up of `..`."""

    def __init__(self, root: str) -> None:
        self._root = root
        # The way to the root is the admin's choice. From there on, the rights of whoever is asking hold.
        with acting_as_agent():
            self._fds: List[int] = [os.open(root, _ROOT)]
        self._leaf: Optional[int] = None
        self._links = 0

    def __enter__(self) -> Walk:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        for fd in self._fds if self._leaf is None else [*self._fds, self._leaf]:
            os.close(fd)

    @property
    def fd(self) -> int:
        """The descriptor of the current folder; names can be looked up in it, but it cannot be listed."""
        return self._fds[-1]

    def enter(self, parts: Tuple[str, ...]) -> int:
        """Go down, following links as long as they stay inside. Returns the folder that was reached."""
        if self._go(parts) is not None:
            raise AgentError(NOT_A_FOLDER, "a part of the path is not a folder")
        return self.fd

    def find(self, parts: Tuple[str, ...]) -> int:
        """Opens what the path finally leads to, without the right to read it."""
        found = self._go(parts)
        return self.fd if found is None else found

    def passes(self, folder: os.stat_result) -> bool:
        """Returns whether this folder is one of those from the root to the current one."""
        return any(os.path.samestat(os.fstat(fd), folder) for fd in self._fds)

    def _go(self, parts: Tuple[str, ...]) -> Optional[int]:
        pending: Deque[str] = deque(parts)
        while pending:
            name = pending.popleft()
            if name == "..":
                self._back()
                continue
            fd = os.open(name, _LOOK, dir_fd=self.fd)
            mode = os.fstat(fd).st_mode
            if stat.S_ISDIR(mode):
                self._down(fd)
            elif stat.S_ISLNK(mode):
                pending.extendleft(reversed(self._link_parts(fd)))
            else:
                self._leaf = fd
                if pending:
                    raise AgentError(NOT_A_FOLDER, "a part of the path is not a folder")
        return self._leaf

    def _down(self, fd: int) -> None:
        self._fds.append(fd)
        if len(self._fds) > MAX_DEPTH + 1:
            raise too_deep()

    def _back(self) -> None:
        if len(self._fds) == 1:
            raise _outside()
        os.close(self._fds.pop())

    def _link_parts(self, fd: int) -> List[str]:
        """The path in a link, from the current folder; if it is absolute, this goes back to the root first."""
        try:
            target = os.readlink("", dir_fd=fd)
        finally:
            os.close(fd)
        self._links += 1
        if self._links > _MAX_LINKS:
            raise AgentError(NOT_A_FOLDER, "too many links lead to each other")
        parts = _parts(target)
        if not target.startswith("/"):
            return parts
        while len(self._fds) > 1:
            self._back()
        return self._below_root(parts)

    def _below_root(self, parts: List[str]) -> List[str]:
        for known in (self._root, os.readlink("/proc/self/fd/{}".format(self._fds[0]))):
            root = _parts(known)
            if parts[: len(root)] == root:
                return parts[len(root) :]
        raise _outside()


def look(name: str, folder: int) -> int:
    """One entry of an open folder, a link as a link, opened without the right to read it."""
    return os.open(name, _LOOK, dir_fd=folder)


@contextmanager
def looking(name: str, folder: int) -> Iterator[int]:
    fd = look(name, folder)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def listing(folder: int, name: str = ".") -> Iterator[int]:
    """A folder, opened so that it can be listed; not through a link."""
    fd = os.open(name, _LIST, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def reading(fd: int, flags: int = os.O_RDONLY) -> Iterator[int]:
    """The regular file behind a descriptor from `look`, and no other, opened for reading or writing."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise AgentError(IS_A_FOLDER, "it is a folder")
    if not stat.S_ISREG(mode):
        raise AgentError(NOT_A_FILE, "it is not an ordinary file; devices, pipes and sockets are left alone")
    opened = os.open("/proc/self/fd/{}".format(fd), flags | os.O_CLOEXEC)
    try:
        yield opened
    finally:
        os.close(opened)


def exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def rename(name: str, folder: int, to_name: str, to_folder: int, overwrite: bool) -> None:
    """Without `overwrite` nothing is replaced, not even what appears this very moment, where the disk can do that."""
    if overwrite:
        os.rename(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder)
        return
    number = _rename_new(name, folder, to_name, to_folder)
    if number in _UNSUPPORTED:
        if exists(to_name, to_folder):
            raise AgentError(EXISTS, "it exists already")
        os.rename(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder)
    elif number:
        raise OSError(number, os.strerror(number))


def is_text(name: str) -> bool:
    """Names are bytes: those that are not UTF-8 can be neither sent nor asked for."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def too_deep() -> AgentError:
    return AgentError(TOO_DEEP, "folders are nested more than {} deep".format(MAX_DEPTH))


def _rename_new(name: str, folder: int, to_name: str, to_folder: int) -> int:
    function: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return errno.ENOSYS
    if function(folder, os.fsencode(name), to_folder, os.fsencode(to_name), _NO_REPLACE) == 0:
        return 0
    return ctypes.get_errno()


def _parts(path: str) -> List[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _outside() -> AgentError:
    return AgentError(OUTSIDE, "a link leads out of the folder")
