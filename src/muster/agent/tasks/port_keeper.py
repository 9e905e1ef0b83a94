"""Keeps ports bound where no started process can inherit them, not even for a moment.

A new process shares our open files until its exec is complete, and the kernel wakes the parent a little before that.
A port closed by us could so stay bound by the half-born child of an earlier launch, and the task it was meant for
would find it taken. Therefore one thread has a table of open files of its own, and the ports are bound only there.
Descriptors of that table mean nothing to other threads: they never leave this module.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from queue import SimpleQueue
from typing import Callable, Dict, Iterable, Tuple

_CLONE_FILES = 0x400
_LIBC = ctypes.CDLL(None, use_errno=True)

_Job = Tuple[Callable[[int], bool], int]


class PortKeeper:
    def __init__(self) -> None:
        self._fds: Dict[int, int] = {}
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._answers: SimpleQueue[bool] = SimpleQueue()
        threading.Thread(target=self._work, name="muster-ports", daemon=True).start()
        # Its table begins as a copy of ours, so nothing may be opened until it has been made.
        self._answers.get()

    def bind(self, port: int) -> bool:
        """Keeps the port if it is free, and returns whether it was."""
        return self._ask(self._bind, port)

    def is_free(self, port: int) -> bool:
        return self._ask(self._probe, port)

    def free(self, ports: Iterable[int]) -> None:
        for port in ports:
            self._ask(self._close, port)

    def _ask(self, job: Callable[[int], bool], port: int) -> bool:
        self._jobs.put((job, port))
        return self._answers.get()

    def _work(self) -> None:
        # Where a sandbox forbids it we still keep the ports, only with that moment's uncertainty.
        self._answers.put(_LIBC.unshare(_CLONE_FILES) == 0)
        while True:
            job, port = self._jobs.get()
            self._answers.put(job(port))

    def _bind(self, port: int) -> bool:
        candidate = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            candidate.bind(("0.0.0.0", port))
        except OSError:
            candidate.close()
            return False
        # Detached: a socket object that is collected on another thread would close that thread's descriptor.
        self._fds[port] = candidate.detach()
        return True

    def _probe(self, port: int) -> bool:
        return self._bind(port) and self._close(port)

    def _close(self, port: int) -> bool:
        os.close(self._fds.pop(port))
        return True
