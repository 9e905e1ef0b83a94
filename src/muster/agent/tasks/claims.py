"""The pipe on which supervisors say that they have claimed their task: one line "task pid start-time" each.

One pipe for all of them: a line is far shorter than what the kernel writes atomically, so lines never mix. It only
saves looking; the truth is the `started` record. Writers never block and survive a reader that is gone.
"""

from __future__ import annotations

import fcntl
import os
from typing import Callable

from muster.agent.system.loop import Loop
from muster.agent.system.processes import Identity

# Above the descriptors that a supervisor is given, so that placing one of those cannot overwrite this one.
_LOWEST_FD = 64


class Notices:
    def __init__(self, loop: Loop, current_boot: str, on_start: Callable[[str, Identity], None]) -> None:
        self._boot = current_boot
        self._on_start = on_start
        self._partial = b""
        self._read_fd, write_fd = os.pipe()
        self.write_fd = fcntl.fcntl(write_fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
        os.close(write_fd)
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self.write_fd, False)
        loop.add_reader(self._read_fd, self.read)

    def read(self) -> None:
        try:
            data = os.read(self._read_fd, 65536)
        except BlockingIOError:
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            task, pid, start_ticks = line.decode("ascii").split(" ")
            self._on_start(task, Identity(int(pid), int(start_ticks), self._boot))
