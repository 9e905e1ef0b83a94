"""Processes that lost their parent: handed to us instead of to the machine's first process, and waited for."""

from __future__ import annotations

import ctypes
import os
from typing import FrozenSet, Optional

from muster.agent.system.loop import Loop
from muster.agent.system.processes import read_stat

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_S = 60.0
_LIBC = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Makes this process the parent of all orphans among its descendants from now on."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> Optional[FrozenSet[int]]:
    """Returns the children of our main thread, which adopts orphans, or None where the kernel does not list them."""
    own = os.getpid()
    try:
        with open("/proc/{0}/task/{0}/children".format(own), "rb", buffering=0) as file:
            return frozenset(int(word) for word in file.read().split())
    except OSError:
        return None


class OrphanReaping:
    """Waits for ended orphans that nobody else waits for. Seen twice, a minute apart, it is nobody's."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._ended: FrozenSet[int] = frozenset()
        loop.call_later(_LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        ended = frozenset(pid for pid in children() or () if _has_ended(pid))
        for pid in ended & self._ended:
            os.waitpid(pid, os.WNOHANG)
        self._ended = ended - self._ended
        self._loop.call_later(_LOOK_EVERY_S, self._look)


def _has_ended(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.dead
