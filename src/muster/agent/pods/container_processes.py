"""The processes of the other containers of this pod, which shares its process namespace.

They are told from our own by their control group. Process 1 is that of the pod itself.
"""

from __future__ import annotations

import os
import signal
import time
from typing import List, Optional

from muster.agent.errors import SYSTEM, AgentError

_LOOK_EVERY_S = 0.2
_KILLS = 25


def stop(grace_s: float) -> int:
    """Ask the others to end, as Kubernetes would: the first process of each container gets SIGTERM, and what is left
    after the grace period is killed. Returns how many there are, without waiting for their end."""
    found = others()
    if not found:
        raise AgentError(SYSTEM, "the task has no process in this pod")
    try:
        for pid in [pid for pid in found if _parent(pid) == 0] or found:
            _send(pid, signal.SIGTERM)
    except PermissionError:
        raise AgentError(SYSTEM, "the processes of the task belong to another account") from None
    if os.fork() == 0:
        _kill_later(grace_s)
    return len(found)


def others() -> List[int]:
    own = _read("/proc/self/cgroup")
    found = [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    groups = ((pid, _read("/proc/{}/cgroup".format(pid))) for pid in found)
    return [pid for pid, group in groups if group is not None and group != own]


def _kill_later(grace_s: float) -> None:
    """Kills from a process of its own, which holds nothing of the connection."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and others():
            time.sleep(_LOOK_EVERY_S)
        for _ in range(_KILLS):
            left = others()
            for pid in left:
                _send(pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(_LOOK_EVERY_S)
    finally:
        os._exit(0)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _parent(pid: int) -> Optional[int]:
    """0 for the first process of a container, which was started from outside."""
    status = _read("/proc/{}/status".format(pid)) or b""
    for line in status.splitlines():
        if line.startswith(b"PPid:"):
            return int(line.split()[1])
    return None


def _read(path: str) -> Optional[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
