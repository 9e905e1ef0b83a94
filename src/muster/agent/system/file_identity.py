"""The account with whose rights a thread touches files.

The kernel keeps this identity for each thread apart from the process's own. While it is that of an account other than
root, the thread has none of root's rights to files, and what it makes belongs to the account. The functions of the C
library for groups change all threads, so the system call is made directly.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import threading
from contextlib import contextmanager
from typing import Iterator, NamedTuple, Optional, Tuple

_LIBC = ctypes.CDLL(None, use_errno=True)
_SETGROUPS = {"x86_64": 116, "ppc64le": 81, "s390x": 206}
_SETGROUPS_ELSEWHERE = 159  # the generic table: aarch64, riscv64, loongarch64
_NOBODY = 65534
_ASK = ctypes.c_uint(0xFFFFFFFF)  # not a valid number: nothing changes, and the answer is what holds


class FileIdentity(NamedTuple):
    uid: int
    gid: int
    groups: Tuple[int, ...]


class _Acting(threading.local):
    """What the kernel knows about this thread too, but does not tell in full."""

    own: Optional[FileIdentity] = None
    """The thread's identity while it does not act as an account. None if it does not."""


_acting = _Acting()


@contextmanager
def acting_as(identity: Optional[FileIdentity]) -> Iterator[None]:
    """Touch files as this account; None changes nothing. Raises OSError if this process may not."""
    if identity is None:
        yield
        return
    own, before = _acting.own, _current()
    _acting.own = own or before
    try:
        _become(identity)
        yield
    finally:
        _become(before)
        _acting.own = own


@contextmanager
def acting_as_agent() -> Iterator[None]:
    """Touch files with the rights of this process, inside `acting_as`."""
    with acting_as(_acting.own):
        yield


def is_own(info: os.stat_result) -> bool:
    """Whether a file belongs to the account with whose rights this thread touches files. A file server may have given
    files of root to nobody."""
    uid = _LIBC.setfsuid(_ASK)
    return info.st_uid == uid or (uid == 0 and info.st_uid == _NOBODY)


def _current() -> FileIdentity:
    return FileIdentity(_LIBC.setfsuid(_ASK), _LIBC.setfsgid(_ASK), tuple(os.getgroups()))


def _become(identity: FileIdentity) -> None:
    """Groups first: once the thread has all rights of the new account, it must have no group of the old one."""
    groups = (ctypes.c_uint * len(identity.groups))(*identity.groups)
    number = _SETGROUPS.get(platform.machine(), _SETGROUPS_ELSEWHERE)
    if _LIBC.syscall(number, len(identity.groups), groups) != 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem), "setgroups")
    _LIBC.setfsgid(ctypes.c_uint(identity.gid))
    _LIBC.setfsuid(ctypes.c_uint(identity.uid))
    if (_LIBC.setfsuid(_ASK), _LIBC.setfsgid(_ASK)) != (identity.uid, identity.gid):
        raise OSError(errno.EPERM, "this process may not act as another account", "setfsuid")
