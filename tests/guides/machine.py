"""The machine on which somebody follows a page, with a shell that stays open from its first command to its last.

Each page has a machine of its own: addresses, processes and files that are the page's alone, so that it may use
the port 7070 and `/home/ada`, and nothing of it is left behind. `setup` comments say what else the page presumes:

| word | meaning |
|---|---|
| `gpus=4xA100` | the machine has these GPUs, as in MUSTER_FAKE_GPUS |
| `server` | a server runs |
| `clone` | the current folder is a clone of the repository |
| `hosts=2` | there are hosts gpu1, gpu2 … at 10.0.0.1, 10.0.0.2 …, which accept the key ~/.ssh/id_ed25519 of ada |
| `host-gpus=4xRTX3090` | each host has these GPUs |
| `slurm` | Slurm's commands reach a cluster of four nodes that all see the same /mnt; see `slurm_machine.py` |
| `login-node` | there is a host called login, on which Slurm's commands work as well |
"""

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.guides.slurm_machine import LOGIN_NODE, slurm_cluster
from tests.parts.host import Host
from tests.parts.hosts import PLAIN_USER, HostOptions, HostPool
from tests.parts.server import PATIENCE

__all__ = ["Answer", "Machine", "machine_for"]

ROOT = Path(__file__).parents[2]
_HOME = Path("/home") / PLAIN_USER
_CLONE = _HOME / "muster"
_BIN = Path(sys.executable).parent
_PORTAL = "src/muster/server/portal"
_STEP = "/run/guide-step"
_END = re.compile(rb"\n\x01(\d+)\x01\n")
_WITHIN_S = 60.0
_NETWORK = "10.0.0"
_CGROUPS = "/sys/fs/cgroup"


@dataclass(frozen=True)
class Answer:
    lines: tuple[str, ...]
    status: int


class Machine:
    def __init__(self, host: Host, environment: dict[str, str]) -> None:
        self._host = host
        self._unread = b""
        self._shell = subprocess.Popen(
            [
                *(*host.entrance, "env", "-i", f"--chdir={_HOME}"),
                *(f"{name}={value}" for name, value in environment.items()),
                *("bash", "--noprofile", "--norc"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )

    def write(self, path: str, content: str) -> None:
        """Files of the server are in its home; everything else is in the current folder."""
        target = _HOME / ".muster" / path if path.startswith("clusters.d/") or path == "config.yaml" else Path(path)
        if not target.is_absolute():
            target = Path(self.run("pwd").lines[-1]) / target
        file = self._host.path(target)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.new")
        partial.write_text(content, encoding="utf-8")
        partial.replace(file)

    def run(self, text: str) -> Answer:
        """Types a command, and returns what appeared until it ended."""
        self._host.path(_STEP).write_text(f"{text}\n", encoding="utf-8")
        assert self._shell.stdin is not None
        self._shell.stdin.write(f". {_STEP} </dev/null; printf '\\n\\1%d\\1\\n' $?\n".encode())
        printed, self._unread = self._unread, b""
        deadline = time.monotonic() + PATIENCE * _WITHIN_S
        while (end := _END.search(printed)) is None:
            more = self.read(deadline - time.monotonic())
            if not more:
                raise AssertionError(f"`{text}` has not ended; it printed:\n{printed.decode(errors='replace')}")
            printed += more
        self._unread = printed[end.end() :]
        return Answer(_lines(printed[: end.start()]), int(end[1]))

    def overhear(self, within_s: float) -> tuple[str, ...]:
        """What commands in the background print."""
        heard, self._unread = self._unread + self.read(within_s), b""
        return _lines(heard)

    def read(self, within_s: float) -> bytes:
        """Waits for output. Returns nothing if there is none in that time, or if the shell has ended."""
        assert self._shell.stdout is not None
        ready, _, _ = select.select([self._shell.stdout], [], [], max(0.0, within_s))
        return os.read(self._shell.stdout.fileno(), 65536) if ready else b""

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        for pipe in (self._shell.stdin, self._shell.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def machine_for(setup: Sequence[str]) -> Iterator[Machine]:
    values = dict(word.partition("=")[::2] for word in setup)
    unknown = values.keys() - {"gpus", "server", "clone", "hosts", "host-gpus", "slurm", LOGIN_NODE}
    assert not unknown, f"no setup has {', '.join(unknown)}"
    count = int(values.get("hosts", "0")) + (LOGIN_NODE in values)
    nodes = [HostOptions(user=PLAIN_USER, fake_gpus=values.get("host-gpus", ""))] * count
    with ExitStack() as stack:
        pool = stack.enter_context(HostPool([HostOptions(), *nodes]))
        _prepare(pool, ["login"] if LOGIN_NODE in values else [f"gpu{number + 1}" for number in range(count)])
        if "slurm" in values:
            stack.enter_context(slurm_cluster(pool))
        if not pool[0].path(_BIN).exists():
            pool[0].share(ROOT)  # homes and temporary folders of a fresh machine are empty
        environment = _environment(values)
        if "clone" in values:
            _clone(pool[0].path(_CLONE))
            pool[0].path(_BIN.parent / ".ready").touch()
        machine = Machine(pool[0], environment)
        try:
            if "clone" in values:
                machine.run(f"cd {_CLONE}")
            if "server" in values:
                machine.run("muster up >/dev/null &")
                _wait_for_server(machine)
            yield machine
        finally:
            machine.close()


def _prepare(pool: HostPool, others: Sequence[str]) -> None:
    """Names, addresses and keys as they are in the pages."""
    names = ["127.0.0.1 localhost vm train.example.org"]
    for number, host in enumerate(pool.hosts):
        address = f"{_NETWORK}.{number or 100}"
        host.run(["ip", "address", "add", f"{address}/24", "dev", "eth0"])
        _mount_cgroups(host)
        if number:
            host.run(["hostname", others[number - 1]])
            names.append(f"{address} {others[number - 1]}")
    machine = pool[0]
    machine.run(["hostname", "vm"])
    machine.path("/etc/hosts").write_text("\n".join(names) + "\n")
    keys = machine.path(_HOME / ".ssh")
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy(pool.key_file, keys / "id_ed25519")


def _mount_cgroups(host: Host) -> None:
    """Control groups as on this machine, so that limits of memory are enforced."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, path, kind, options, *_ = line.split()
        if path.startswith(_CGROUPS):
            kept = [word for word in options.split(",") if word not in ("ro", "relatime", "nosuid", "nodev", "noexec")]
            host.run(["mkdir", "-p", path])
            host.run(["mount", "-t", kind, "-o", ",".join(kept), kind, path])


def _environment(values: dict[str, str]) -> dict[str, str]:
    environment = {
        "HOME": str(_HOME),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "MUSTER_LOG_LEVEL": "error",
        "PATH": f"{_BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }
    if "gpus" in values:
        environment["MUSTER_FAKE_GPUS"] = values["gpus"]
    return environment


def _clone(folder: Path) -> None:
    """The files of the repository as they are now. Its virtual environment is the one of the tests, and the web portal
    is built, so that `make setup` has nothing to download."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    (folder / ".venv").symlink_to(_BIN.parent)
    shutil.copytree(ROOT / _PORTAL, folder / _PORTAL)


def _wait_for_server(machine: Machine) -> None:
    deadline = time.monotonic() + PATIENCE * _WITHIN_S
    while machine.run("muster get jobs").status:
        assert time.monotonic() < deadline, "the server does not start"


def _lines(printed: bytes) -> tuple[str, ...]:
    text = printed.decode("utf-8", "replace")
    return tuple(line.rstrip("\r") for line in text.splitlines())
