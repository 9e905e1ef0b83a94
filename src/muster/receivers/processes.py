"""Processes that outlive whoever started them. One is known by its pid and its start, so a reused pid is never ours."""

import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_DEAD = (b"Z", b"X")


@dataclass(frozen=True, slots=True)
class ProcessMark:
    pid: int
    start: str
    """When it started, in ticks after the boot, and which boot that was."""


def mark_of(pid: int) -> ProcessMark | None:
    """Returns None if there is no such process, or if it has ended and nobody has asked for its exit code yet."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        return None
    return None if facts[0] in _DEAD else ProcessMark(pid, f"{int(facts[19])}@{boot}")


def is_alive(mark: ProcessMark | None) -> bool:
    return mark is not None and mark_of(mark.pid) == mark


class Handle:
    """A process that may be a child or not. It can be waited for and signalled without ever meaning another one."""

    def __init__(self, mark: ProcessMark, descriptor: int) -> None:
        self.mark = mark
        self.descriptor = descriptor
        """Becomes readable when the process has ended."""

    @classmethod
    def open(cls, mark: ProcessMark | None) -> "Handle | None":
        """Returns None if the process has ended."""
        if mark is None:
            return None
        try:
            descriptor = os.pidfd_open(mark.pid)
        except OSError:
            return None
        if is_alive(mark):
            return cls(mark, descriptor)
        os.close(descriptor)
        return None

    def send(self, number: signal.Signals) -> None:
        try:
            signal.pidfd_send_signal(self.descriptor, number)
        except ProcessLookupError:
            return

    def has_ended(self) -> bool:
        return bool(select.select([self.descriptor], [], [], 0)[0])

    def close(self) -> None:
        os.close(self.descriptor)
