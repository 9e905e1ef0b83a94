"""Notices the end of processes by pidfd, for children of this agent and of an earlier one alike.

Only where the kernel has no pidfd (before Linux 5.3) does it look five times a second.
"""

from __future__ import annotations

import ctypes
import os
from typing import Callable, Optional

from muster.agent.system.loop import Loop
from muster.agent.system.processes import Identity, is_alive, read_stat

_SYS_PIDFD_OPEN = 434  # Python before 3.9 has no wrapper for it
_LIBC = ctypes.CDLL(None, use_errno=True)
_POLL_S = 0.2
_LOOK_S = 0.01

Gone = Callable[[], None]


class ExitWatch:
    def __init__(self, loop: Loop, current_boot: str) -> None:
        self._loop = loop
        self._boot = current_boot

    def child(self, pid: int, gone: Gone) -> None:
        """Call `gone` once our own child has ended; it stays a zombie, and its number taken, until `reap`."""
        self._watch(_open_pidfd(pid), lambda: _is_over(pid), gone)

    def adopted(self, identity: Identity, gone: Gone) -> bool:
        """The same for a process that is not our child; False if it is gone already."""
        fd = _open_pidfd(identity.pid)
        # Checked after opening: only now is it sure which process the descriptor means.
        if not is_alive(identity, self._boot):
            if fd is not None:
                os.close(fd)
            return False
        self._watch(fd, lambda: not is_alive(identity, self._boot), gone)
        return True

    def reaped(self, identity: Identity, gone: Gone) -> None:
        """Call `gone` once nothing is left of a process that has ended: its parent has waited for it."""
        stat = read_stat(identity.pid)
        if stat is None or stat.start_ticks != identity.start_ticks:
            gone()
        else:
            self._loop.call_later(_LOOK_S, lambda: self.reaped(identity, gone))

    def _watch(self, fd: Optional[int], is_over: Callable[[], bool], gone: Gone) -> None:
        if fd is None:
            self._loop.call_later(_POLL_S, lambda: self._look(is_over, gone))
            return
        pidfd = fd

        def ready() -> None:
            self._loop.remove(pidfd)
            os.close(pidfd)
            gone()

        self._loop.add_reader(pidfd, ready)

    def _look(self, is_over: Callable[[], bool], gone: Gone) -> None:
        if is_over():
            gone()
        else:
            self._watch(None, is_over, gone)


def reap(pid: int) -> Optional[int]:
    """Returns the exit code of our ended child as a shell reports it: for a signal, 128 plus its number. None if the
    process was not our child."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    if found != pid:
        return None
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _is_over(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is None or stat.dead


def _open_pidfd(pid: int) -> Optional[int]:
    if hasattr(os, "pidfd_open"):
        try:
            return int(os.pidfd_open(pid))
        except OSError:
            return None
    fd = _LIBC.syscall(_SYS_PIDFD_OPEN, pid, 0)
    return fd if fd >= 0 else None
