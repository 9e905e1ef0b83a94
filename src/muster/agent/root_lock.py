"""One agent per root: the lock, who has it, and taking it from an agent that hangs.

Over a network a line can break without a goodbye: the old agent then waits for a server that will not speak again, and
keeps the lock. Tasks do not mind who their agent is; they are not touched here.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from typing import Optional

from muster.agent.system.processes import Identity, boot_id, is_alive, read_stat, send

_WAIT_S = 10.0
_RETRY_S = 0.02
_ASK_AFTER_S = 0.5
_FORCE_AFTER_S = 1.5


def lock(root: str, take_over: bool) -> None:
    """Returns when the root is ours. Kept open, and so locked, for the life of the process."""
    fd = os.open(os.path.join(root, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    boot = boot_id()
    deadline = time.monotonic() + _WAIT_S
    removal = _Removal(boot)
    while not _locked(fd):
        if time.monotonic() > deadline:
            sys.exit("muster agent: another agent has been using {} for {:g} s".format(root, _WAIT_S))
        if take_over:
            removal.press(_read_holder(fd))
        time.sleep(_RETRY_S)
    _write_holder(fd, boot)


class _Removal:
    """Asks the holder to leave, then makes it. Each holder gets its own time."""

    def __init__(self, boot: str) -> None:
        self._boot = boot
        self._holder: Optional[Identity] = None
        self._since = 0.0
        self._asked = False

    def press(self, holder: Optional[Identity]) -> None:
        now = time.monotonic()
        if holder != self._holder or holder is None:
            self._holder, self._since, self._asked = holder, now, False
            return
        held_s = now - self._since
        if held_s < _ASK_AFTER_S or not is_alive(holder, self._boot):
            return
        if held_s >= _FORCE_AFTER_S:
            send(holder.pid, signal.SIGKILL)
        elif not self._asked:
            self._asked = True
            send(holder.pid, signal.SIGTERM)


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_holder(fd: int, boot: str) -> None:
    stat = read_stat(os.getpid())
    assert stat is not None
    os.ftruncate(fd, 0)
    os.pwrite(fd, "{} {} {}\n".format(stat.pid, stat.start_ticks, boot).encode("ascii"), 0)


def _read_holder(fd: int) -> Optional[Identity]:
    """Returns None if the file names nobody: an agent writes its name a moment after it has the lock."""
    words = os.pread(fd, 200, 0).decode("ascii", "replace").split()
    if len(words) != 3 or not words[0].isdigit() or not words[1].isdigit():
        return None
    return Identity(int(words[0]), int(words[1]), words[2])
