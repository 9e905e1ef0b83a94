"""The one-line records in a task's folder: `started` and `exit`, and when its grace ends once it was told to stop.

`started` and `exit` are created with O_EXCL. A line without its newline was cut short and counts as no record; that is
why no rename is needed. Whoever creates `started` has claimed the task: a shim to run it, or the agent to make sure
that it never runs. A shim writes who it is when it claims and who the command is when it has started it, so a full
disk is noticed before anything runs.

Earlier agents had a supervisor for each task, a shell that led the session and recorded the exit itself; its
`started` names the supervisor alone. Their tasks are adopted like any other.
"""

from __future__ import annotations

import os
from typing import NamedTuple, Optional, Tuple

from muster.agent.system import disk
from muster.agent.system.processes import Identity
from muster.agent.tasks.task_folder import EXIT, RUSAGE, STARTED, STOP

_CLAIMED_BY_STOP = "stopped"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class StartRecord(NamedTuple):
    leader: Optional[Identity]  # of the session: the command, or its supervisor. None: stopped before it started
    shim: Optional[Identity]  # None: the leader is a supervisor
    at: float


class ExitRecord(NamedTuple):
    code: int
    at: float


class Rusage(NamedTuple):
    """What a command and those of its descendants used that were waited for."""

    cpu_s: float
    largest_bytes: int  # the most memory that one of these processes had; 0 if that is not known


def read_started(folder: str) -> Optional[StartRecord]:
    found = _read_line(os.path.join(folder, STARTED))
    if found is None:
        return None
    line, at = found
    if line == _CLAIMED_BY_STOP:
        return StartRecord(None, None, at)
    fields = line.split(" ")
    if len(fields) == 5 and all(field.isdigit() for field in fields[1:]):
        boot, shim_pid, shim_start, pid, start = fields
        return StartRecord(Identity(int(pid), int(start), boot), Identity(int(shim_pid), int(shim_start), boot), at)
    if len(fields) == 3 and fields[0].isdigit() and fields[1].isdigit():
        return StartRecord(Identity(int(fields[0]), int(fields[1]), fields[2]), None, at)
    return None


def read_exit(folder: str) -> Optional[ExitRecord]:
    found = _read_line(os.path.join(folder, EXIT))
    if found is None or not found[0].isdigit():
        return None
    return ExitRecord(int(found[0]), found[1])


def is_claimed(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, STARTED))


def claim(folder: str, shim: Identity) -> int:
    """Take the claim: a descriptor on which to `complete` the record, and to close. FileExistsError: it is taken."""
    fd = os.open(os.path.join(folder, STARTED), _CREATE, 0o600)
    try:
        os.write(fd, "{} {} {} ".format(shim.boot_id, shim.pid, shim.start_ticks).encode("ascii"))
    except OSError:
        os.close(fd)
        raise
    return fd


def complete(claim: int, command: Identity) -> None:
    os.write(claim, "{} {}\n".format(command.pid, command.start_ticks).encode("ascii"))


def complete_for_another(folder: str, command: Identity) -> None:
    """Completes the record for a shim that was killed after its claim, before it could do so itself."""
    fd = os.open(os.path.join(folder, STARTED), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        complete(fd, command)
    finally:
        os.close(fd)


def claim_for_stop(folder: str) -> bool:
    """Take the claim so that no shim can; False when one has it already."""
    return _create(os.path.join(folder, STARTED), _CLAIMED_BY_STOP)


def record_exit(folder: str, code: int) -> None:
    """An existing record stays as it is."""
    _create(os.path.join(folder, EXIT), str(code))


def record_rusage(folder: str, used: Rusage) -> None:
    """Writes this before the exit is recorded, so that whoever finds that record finds this one, too."""
    _create(os.path.join(folder, RUSAGE), "{:.6f} {}".format(used.cpu_s, used.largest_bytes))


def read_rusage(folder: str) -> Optional[Rusage]:
    found = _read_line(os.path.join(folder, RUSAGE))
    fields = [] if found is None else found[0].split(" ")
    try:
        return Rusage(float(fields[0]), int(fields[1])) if len(fields) == 2 else None
    except ValueError:
        return None


def record_stop(folder: str, deadline: float) -> None:
    disk.write_json(os.path.join(folder, STOP), {"deadline": deadline})


def read_stop(folder: str) -> Optional[float]:
    """Returns the time at which the grace period of a task that was asked to stop ends or ended, else None."""
    asked = disk.read_json(os.path.join(folder, STOP))
    return None if asked is None else float(asked.get("deadline", 0.0))


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
