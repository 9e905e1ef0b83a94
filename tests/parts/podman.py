"""A podman of a test's own: its storage, and one small image made of this machine's busybox. No registry is asked."""

import os
import re
import resource
import shutil
import subprocess
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

IMAGE = "localhost/muster-test:1"
_APPLETS = ("sh", "cat", "echo", "env", "id", "ls", "pwd", "sleep", "touch", "true")


class PodmanMissing(Exception):
    """Why containers cannot run here."""


@dataclass(frozen=True)
class Podman:
    program: str
    env: dict[str, str]
    """What makes every podman use this storage."""

    def call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.program, *arguments],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def names(self) -> set[str]:
        """Of all containers, running or not."""
        return set(self.call("ps", "--all", "--format", "{{.Names}}").stdout.split())


def private_podman(base: Path) -> Podman:
    """Raises PodmanMissing with the reason. Tries podman as it is set up here, then with runc and low limits: some
    sandboxes allow no more."""
    program, busybox = shutil.which("podman"), shutil.which("busybox")
    if program is None or busybox is None:
        raise PodmanMissing("podman or busybox is not installed (scripts/install-test-parts.sh)")
    (base / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{base}/graph"\nrunroot = "{base}/run"\n'
    )
    _pack(Path(busybox), base / "image.tar")
    complaints = []
    for settings in _settings():
        (base / "containers.conf").write_text(settings)
        env = {"CONTAINERS_STORAGE_CONF": f"{base}/storage.conf", "CONTAINERS_CONF": f"{base}/containers.conf"}
        podman = Podman(program, env)
        made = podman.call("import", "--quiet", str(base / "image.tar"), IMAGE)
        tried = podman.call("run", "--rm", "--network", "host", "--log-driver", "none", IMAGE, "true")
        if made.returncode == 0 and tried.returncode == 0:
            return podman
        complaints.append((made.stderr if made.returncode else tried.stderr).strip()[-300:])
    raise PodmanMissing(f"containers cannot run here: {'; '.join(complaints)}")


def remove(podman: Podman, base: Path) -> None:
    podman.call("rm", "--all", "--force")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        mounted = line.split()[1]
        if mounted.startswith(str(base)):
            subprocess.run(["umount", mounted], check=False)
    deadline = time.monotonic() + 20
    while _users_of(base) and time.monotonic() < deadline:  # clean-ups that were begun make what they miss anew
        time.sleep(0.05)
    shutil.rmtree(base, ignore_errors=True)


def _users_of(base: Path) -> list[int]:
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


def _settings() -> list[str]:
    files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 10_000)
    limits = f'[containers]\ndefault_ulimits = ["nofile={files}:{files}", "nproc=4000:4000"]\n'
    return ["", limits, f'{limits}[engine]\nruntime = "runc"\n']


def _pack(busybox: Path, archive: Path) -> None:
    """busybox, its libraries, and the folders a container expects."""
    said = subprocess.run(["ldd", str(busybox)], capture_output=True, text=True, check=False).stdout
    with tarfile.open(archive, "w") as image:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777
            image.addfile(entry)
        for path in [str(busybox), *re.findall(r"(/\S+) \(0x", said)]:
            place = "bin/busybox" if path == str(busybox) else path.lstrip("/")
            image.add(os.path.realpath(path), place)
        for name in _APPLETS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            image.addfile(link)
