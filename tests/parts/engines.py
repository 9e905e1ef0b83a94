"""Private container engines for tests, each with its own storage and a small image made from this machine's busybox.
They contact no registry."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

IMAGE = "localhost/muster-test:1"
_APPLETS = ("sh", "cat", "echo", "env", "id", "kill", "ln", "ls", "pwd", "sleep", "touch", "true")


class EngineMissing(Exception):
    """Containers cannot run on this machine; the message says why."""


@dataclass(frozen=True)
class EnginePart:
    name: str
    program: str
    env: dict[str, str]
    """The options that make every client use this storage."""
    around: tuple[str, ...] = ()
    """The prefix of every command, also of the agent's, that switches to another user."""
    uid: int = 0
    ground: Path | None = None
    """The folder that this user may write to; None if it is the folder of the tests."""

    def call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.around, self.program, *arguments],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def names(self) -> set[str]:
        """The names of all containers, running or not."""
        listed = self.call("ps", "--all", "--format", "{{.Names}}")
        assert listed.returncode == 0, listed.stderr
        return set(listed.stdout.split())


def pack_image(archive: Path, applets: tuple[str, ...] = _APPLETS) -> None:
    """An image with busybox, its libraries, and the folders that a container expects."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise EngineMissing("busybox is not installed (scripts/install-test-parts.sh)")
    said = subprocess.run(["ldd", busybox], capture_output=True, text=True, check=False).stdout
    with tarfile.open(archive, "w") as image:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777
            image.addfile(entry)
        for path in [busybox, *re.findall(r"(/\S+) \(0x", said)]:
            place = "bin/busybox" if path == busybox else path.lstrip("/")
            image.add(os.path.realpath(path), place)
        for name in applets:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            image.addfile(link)


def unmount_below(base: Path) -> None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        mounted = line.split()[1]
        if mounted.startswith(f"{base}/"):
            subprocess.run(["umount", mounted], check=False)


def end_users_of(base: Path, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while (pids := users_of(base)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def users_of(base: Path) -> list[int]:
    """The processes that have this folder in an argument or a variable."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if str(base).encode() in words:
                found.append(int(entry.name))
    return found
