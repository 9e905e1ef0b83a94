"""The processes of a test cluster. Each runs in the background, has a pid file and a log, and is ended by SIGKILL.

The API server needs minutes to end on SIGTERM once etcd is gone, so a cluster is always ended with SIGKILL. Every
process carries the cluster's folder in its environment: by that, even one that was started in the moment of a crash,
before its pid file was written, is found.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.kube.layout import Layout

_MARK = "MUSTER_KUBE_CLUSTER"
_SYSTEM_PROGRAMS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


class CommandFailed(RuntimeError):
    """The message names the command and what it printed."""


@dataclass(frozen=True)
class ProcessId:
    """A pid with its start time, so that a number that the kernel gave out again is not taken for the old process."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        return cls(pid, _start_time(pid))

    @property
    def alive(self) -> bool:
        return _start_time(self.pid) == self.started


def start(layout: Layout, name: str, command: Sequence[str | Path]) -> None:
    """Start a process of the cluster unless it runs already."""
    if running(layout, name):
        return
    layout.logs.mkdir(parents=True, exist_ok=True)
    layout.pids.mkdir(parents=True, exist_ok=True)
    with (layout.logs / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=layout.root,
            env={**system_environment(), _MARK: str(layout.root)},
        )
    identity = ProcessId.of(process.pid)
    (layout.pids / name).write_text(f"{identity.pid} {identity.started}")


def running(layout: Layout, name: str) -> ProcessId | None:
    try:
        pid, started = (layout.pids / name).read_text().split()
    except (OSError, ValueError):
        return None
    identity = ProcessId(int(pid), int(started))
    return identity if identity.alive else None


def kill(layout: Layout, name: str) -> None:
    identity = running(layout, name)
    if identity is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(identity.pid, signal.SIGKILL)
        wait_until(lambda: not identity.alive, 60, f"process {name} to end")
    (layout.pids / name).unlink(missing_ok=True)


def kill_all(layout: Layout) -> None:
    """Kill every process of the cluster, whether its pid file was written or not."""

    def none_left() -> bool:
        left = list(_marked(layout.root))
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    wait_until(none_left, 60, "the processes of the cluster to end")


def wait_until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(0.1)


def run(*command: str | Path, stdin: str | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=system_environment(),
    )
    if done.returncode:
        raise CommandFailed(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def system_environment() -> dict[str, str]:
    """The environment with the system's folders on the path, which root without a login shell may not have."""
    return {**os.environ, "PATH": os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM_PROGRAMS])}


def _marked(root: Path) -> Iterator[int]:
    mark = f"{_MARK}={root}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0") and _start_time(int(folder.name)):
                yield int(folder.name)


def _start_time(pid: int) -> int:
    """When the process started, in the kernel's ticks; 0 if it does not run, also if it merely waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])
