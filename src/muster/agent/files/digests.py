"""Computes the sha256 of files in steps, and remembers it for as long as the file is the same."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from typing import Optional, Tuple

from muster.agent.errors import AgentError
from muster.agent.files.confined import reading
from muster.agent.files.file_errors import CHANGED
from muster.agent.files.stepwise import Work

PIECE_BYTES = 1 << 20
_REMEMBERED = 4096
_SETTLED_AFTER_NS = 3_000_000_000
"""A file that was written just now may be written again without a change of its time."""

_Key = Tuple[int, int, int, int, int, int]


class Digests:
    def __init__(self) -> None:
        self._known: OrderedDict[_Key, str] = OrderedDict()
        self._turn = threading.Lock()

    def work(self, fd: int, length: Optional[int]) -> Work:
        """Hash the first `length` bytes of a file, or all of it. The last answer has `sha256` and `hashed`."""
        with reading(fd) as file:
            info = os.fstat(file)
            length = info.st_size if length is None else length
            if length > info.st_size:
                raise AgentError(CHANGED, "the file has only {} bytes".format(info.st_size))
            key = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, length)
            with self._turn:
                known = self._known.get(key)
            if known is None:
                digest = hashlib.sha256()
                done = 0
                while done < length:
                    data = os.pread(file, min(PIECE_BYTES, length - done), done)
                    if not data:
                        raise AgentError(CHANGED, "the file became shorter while it was read")
                    digest.update(data)
                    done += len(data)
                    yield {"hashed": done}
                known = digest.hexdigest()
                self._remember(key, info, known)
        yield {"hashed": length, "sha256": known}

    def _remember(self, key: _Key, info: os.stat_result, digest: str) -> None:
        if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) < _SETTLED_AFTER_NS:
            return
        with self._turn:
            self._known[key] = digest
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
