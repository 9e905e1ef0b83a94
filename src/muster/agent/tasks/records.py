"""The two one-line records a supervisor leaves: `started` and `exit`.

Each is created with O_EXCL and written in one go. A line without its newline was cut short and counts as no record;
that is why no rename is needed. Whoever creates `started` has claimed the task: a supervisor to run it, or the agent
to make sure that it never runs.
"""

from __future__ import annotations

import os
from typing import NamedTuple, Optional, Tuple

from muster.agent.system.processes import Identity
from muster.agent.tasks.task_folder import EXIT, STARTED

_CLAIMED_BY_STOP = "stopped"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class StartRecord(NamedTuple):
    identity: Optional[Identity]  # None: stopped before it started
    at: float


class ExitRecord(NamedTuple):
    code: int
    at: float


def read_started(folder: str) -> Optional[StartRecord]:
    found = _read_line(os.path.join(folder, STARTED))
    if found is None:
        return None
    line, at = found
    if line == _CLAIMED_BY_STOP:
        return StartRecord(None, at)
    fields = line.split(" ")
    if len(fields) != 3 or not (fields[0].isdigit() and fields[1].isdigit()):
        return None
    return StartRecord(Identity(int(fields[0]), int(fields[1]), fields[2]), at)


def read_exit(folder: str) -> Optional[ExitRecord]:
    found = _read_line(os.path.join(folder, EXIT))
    if found is None or not found[0].isdigit():
        return None
    return ExitRecord(int(found[0]), found[1])


def is_claimed(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, STARTED))


def claim_for_stop(folder: str) -> bool:
    """Take the claim so that no supervisor can; False when one has it already."""
    return _create(os.path.join(folder, STARTED), _CLAIMED_BY_STOP)


def record_exit(folder: str, code: int) -> None:
    """In place of a supervisor that could not; an existing record stays as it is."""
    _create(os.path.join(folder, EXIT), str(code))


def signal_of(code: int) -> Optional[int]:
    """Shells report death by a signal as 128 plus its number."""
    return code - 128 if 128 < code <= 128 + 64 else None


def _create(path: str, line: str) -> bool:
    try:
        fd = os.open(path, _CREATE, 0o600)
    except FileExistsError:
        return False
    try:
        os.write(fd, line.encode("ascii") + b"\n")
    finally:
        os.close(fd)
    return True


def _read_line(path: str) -> Optional[Tuple[str, float]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(fd, 256)
        at = os.fstat(fd).st_mtime
    except OSError:
        return None
    finally:
        os.close(fd)
    if not data.endswith(b"\n"):
        return None
    return data[:-1].decode("ascii", "replace"), at
