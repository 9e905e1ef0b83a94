"""The processes of one test host, found from outside in /proc by the namespace they live in."""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.parts.server import polls

_END_WITHIN_S = 30.0


class HostProcess(NamedTuple):
    pid: int  # as this machine counts
    inner_pid: int  # as the host counts
    command: str


def processes_of(init: int, pattern: str) -> list[HostProcess]:
    """The running processes whose command line matches. The first process is the host itself and is left out."""
    return [found for found in _living(init) if found.inner_pid != 1 and re.search(pattern, found.command)]


def signal_processes(init: int, pattern: str, number: signal.Signals) -> None:
    found = processes_of(init, pattern)
    assert found, f"the host runs nothing like {pattern!r} but {processes_of(init, '')}"
    for process in found:
        _send(process, number)


def kill_processes(init: int, pattern: str) -> None:
    """Until none is left, or starts meanwhile."""
    found: list[HostProcess] = []
    for _ in polls(_END_WITHIN_S):
        found = processes_of(init, pattern)
        if not found:
            return
        for process in found:
            _send(process, signal.SIGKILL)
    raise AssertionError(f"processes do not end: {found}")


def _send(process: HostProcess, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)


def _living(init: int) -> Iterator[HostProcess]:
    space = Path(f"/proc/{init}/ns/pid").readlink()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it has just ended
            if (entry / "ns/pid").readlink() != space:
                continue
            status = (entry / "status").read_text()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            if command and not re.search(r"^State:\s+[ZX]", status, re.MULTILINE):
                (inner,) = re.findall(r"^NSpid:.*\s(\d+)$", status, re.MULTILINE)
                yield HostProcess(int(entry.name), int(inner), command)
