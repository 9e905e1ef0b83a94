"""Removes trees of files, whatever their rights. It is apart from `disk` because the shim removes none.

A tree may belong to a user, and other tasks of the user may change it while it is removed. Folders are therefore opened
without following links, and only what is open is touched. However deep the tree is, two folders are open at a time: a
folder inside a folder is first moved to the top.
"""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import contextmanager
from typing import Deque, Iterator, Optional

_WITHIN_S = 600.0
"""Somebody who adds files while others are removed does not keep the agent busy for ever."""
_ROUNDS = 3


def remove_tree(path: str, parent: Optional[int] = None) -> None:
    """Remove a folder, also where its owner took away their own permissions. What cannot be removed stays. `path` is
    relative to the open folder `parent` if there is one."""
    try:
        os.unlink(path, dir_fd=parent)
        return  # it was a link or a file
    except OSError:
        pass
    try:
        with _opened(path, parent) as top:
            _Removal(top).run()
        os.rmdir(path, dir_fd=parent)
    except OSError:
        pass  # it is not there, or not to be removed


class _Removal:
    def __init__(self, top: int) -> None:
        self._top = top
        self._device = os.fstat(top).st_dev
        self._until = time.monotonic() + _WITHIN_S
        self._left: Deque[str] = deque()

    def run(self) -> None:
        for _ in range(_ROUNDS):
            self._left.extend(os.listdir(self._top))
            if not self._left:
                return
            while self._left and time.monotonic() < self._until:
                self._remove(self._left.popleft())

    def _remove(self, name: str) -> None:
        try:
            if _unlink(name, self._top):
                return
            with _opened(name, self._top) as folder:
                if os.fstat(folder).st_dev != self._device:
                    return  # something is mounted here
                for child in os.listdir(folder):
                    if not _unlink(child, folder):
                        self._move_to_top(child, folder)
            os.rmdir(name, dir_fd=self._top)
        except OSError:
            pass  # it stays; the others are removed nevertheless

    def _move_to_top(self, name: str, folder: int) -> None:
        moved = ".removed-{}".format(os.urandom(8).hex())
        try:
            try:
                os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=self._top)
            except PermissionError:
                with _opened(name, folder):  # makes it writable
                    os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=self._top)
        except OSError:
            return
        self._left.append(moved)


def _unlink(name: str, folder: int) -> bool:
    """Whether it is gone: a folder is not."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        return False
    return True


@contextmanager
def _opened(name: str, parent: Optional[int]) -> Iterator[int]:
    """A folder, which the agent may read and change afterwards. Its mode is changed by the descriptor: by its name, a
    link that has taken its place would be followed."""
    found = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        exact = "/proc/self/fd/{}".format(found)
        if os.fstat(found).st_mode & 0o700 != 0o700:
            os.chmod(exact, 0o700)
        folder = os.open(exact, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)
    try:
        yield folder
    finally:
        os.close(folder)
