"""Partial files in the folders of uploads and copies: their names, and the removal of those that nobody continues.

They are searched for when an upload begins in their folder, at most once in a while, and never without limit: a folder
may have very many entries, and very many uploads.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections import OrderedDict
from itertools import islice
from typing import Callable, Iterator, Tuple

from muster.agent.files.confined import listing, looking
from muster.agent.files.folder_checks import MARKER, PROBE_PREFIX

PARTIAL_PREFIX = ".muster-upload-"
KEPT_S = 24 * 3600.0
"""A partial file that was neither written to nor asked for during this time is removed."""
MOST_NAMES = 100_000
"""One search looks at no more names than these."""
_SEARCHED_EVERY_S = 3600.0
_FOLDERS_KNOWN = 4096
_PARTIAL = re.compile(re.escape(PARTIAL_PREFIX) + r"[0-9a-z]{8,64}\Z")


def is_ours(name: str) -> bool:
    """Returns whether a name in a folder of users belongs to Muster. Such a file is neither counted nor copied."""
    return name == MARKER or name.startswith((PARTIAL_PREFIX, PROBE_PREFIX))


class Leftovers:
    def __init__(
        self, clock: Callable[[], float] = time.time, kept_s: float = KEPT_S, most_names: int = MOST_NAMES
    ) -> None:
        self._clock = clock
        self._kept_s = kept_s
        self._most_names = most_names
        self._searched: OrderedDict[Tuple[int, int], float] = OrderedDict()
        self._turn = threading.Lock()

    def keep(self, name: str, folder: int) -> None:
        """Somebody continues this upload, and may need long before the next byte is written: it counts as new. The time
        is noted on the disk, since nodes may share it."""
        try:
            with looking(name, folder) as fd:
                info = os.fstat(fd)
                if self._clock() - info.st_mtime > self._kept_s / 24 and _is_only_here(info):
                    os.utime("/proc/self/fd/{}".format(fd), (self._clock(), self._clock()))
        except OSError:
            pass  # it is gone, or belongs to another account: then only writing to it counts

    def remove_old(self, folder: int, turn: Callable[[str], threading.Lock]) -> None:
        """Remove old partial files from this open folder. `turn` is the lock that is held during work on a name."""
        if not self._is_due(folder):
            return
        try:
            with listing(folder) as fd:
                for name in _partial_names(fd, self._most_names):
                    self._remove_if_free(name, fd, turn(name))
        except OSError:
            pass  # the folder can be written to but not listed; no upload fails because of that

    def _remove_if_free(self, name: str, folder: int, turn: threading.Lock) -> None:
        if turn.acquire(blocking=False):
            try:
                self._remove_if_old(name, folder)
            finally:
                turn.release()

    def _remove_if_old(self, name: str, folder: int) -> None:
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            last = max(info.st_mtime, info.st_ctime)
            if stat.S_ISREG(info.st_mode) and self._clock() - last > self._kept_s:
                os.unlink(name, dir_fd=folder)
        except OSError:
            pass  # it is gone already, or belongs to another account

    def _is_due(self, folder: int) -> bool:
        info = os.fstat(folder)
        key, now = (info.st_dev, info.st_ino), self._clock()
        with self._turn:
            if now - self._searched.get(key, -_SEARCHED_EVERY_S) < _SEARCHED_EVERY_S:
                return False
            self._searched.pop(key, None)
            self._searched[key] = now
            while len(self._searched) > _FOLDERS_KNOWN:
                self._searched.popitem(last=False)
            return True


def _partial_names(folder: int, most: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in islice(entries, most):
            if _PARTIAL.match(entry.name):
                yield entry.name


def _is_only_here(info: os.stat_result) -> bool:
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1
