"""Keeps the logs that allocations without a shared folder send to the login node: below their limits, and with the
times at which they came.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Dict, Mapping, Optional

from muster.agent import requests
from muster.agent.batch.spool import LOG, Gang
from muster.agent.files.pieces import MAX_WRITE_BYTES
from muster.agent.tasks.log_limits import LimitedLog, skip
from muster.agent.tasks.log_times import MarkFile
from muster.agent.tasks.task_folder import LOG_TIMES

LOG_LIMIT = "log_bytes"
"""The fact of a gang that says how much is kept of the log of each of its tasks. None: everything."""


class KeptLogs:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: Dict[str, _KeptLog] = {}

    def take(self, gang: Gang, task: str, message: Mapping[str, Any]) -> None:
        """Keep a piece of a log. One that is there already is not written again, and what is missing before it was
        dropped by its node. Raises OSError."""
        offset = requests.whole_number(message, "offset", 0, 1 << 62)
        data = requests.data(message, MAX_WRITE_BYTES)
        with self._lock:
            if task not in self._logs:
                folder = gang.task_folder(task)
                os.makedirs(folder, 0o700, exist_ok=True)
                self._logs[task] = _KeptLog(folder, (gang.facts() or {}).get(LOG_LIMIT))
            log = self._logs[task]
        log.take(offset, data)

    def ended(self, task: str) -> None:
        with self._lock:
            self._logs.pop(task, None)


class _KeptLog:
    def __init__(self, folder: str, limit: Optional[int]) -> None:
        self._folder = folder
        self._marks = MarkFile(os.path.join(folder, LOG_TIMES))
        self._limited = LimitedLog(folder, limit) if limit is not None else None
        self._lock = threading.Lock()

    def take(self, offset: int, data: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(os.path.join(self._folder, LOG), flags, 0o600)
        try:
            with self._lock:
                self._append(fd, offset, data)
        finally:
            os.close(fd)

    def _append(self, fd: int, offset: int, data: bytes) -> None:
        size = os.fstat(fd).st_size
        if offset > size:
            skip(self._folder, fd, offset)
            size = offset
        rest = memoryview(data)[size - offset :]
        while rest:
            count = os.pwrite(fd, rest, size)
            size, rest = size + count, rest[count:]
        self._marks.add(int(time.time() * 1000), size)
        if self._limited is not None:
            self._limited.look()
