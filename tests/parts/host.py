"""One SSH host of a test pool: its own address, processes, files and host name, and every way in which it may fail.

A host is a set of namespaces on this machine. It is made by `hosts.HostPool`, and removed with it.
"""

import contextlib
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.parts.host_claims import command
from tests.parts.host_files import DISK, HostFiles, HostOptions
from tests.parts.server import polls

_START_WITHIN_S = 30.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Arguments: the root of the host, its name, a file with the id of this boot.
_BOOT = """
set -e
mount -t proc proc "$1/proc"
mount --bind "$3" "$1/proc/sys/kernel/random/boot_id"
mount -t sysfs -o ro sysfs "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mkdir "$1/run/sshd"
hostname "$2"
echo up
exec chroot "$1" /bin/sh -c 'exec >/dev/null; sleep infinity & wait'
"""


@dataclass(frozen=True)
class Link:
    """The end of a host's cable that is on the bridge, and the namespace in which the other end is."""

    name: str
    namespace: str


class Host:
    def __init__(self, files: HostFiles, link: Link, address: str, options: HostOptions, key_file: Path) -> None:
        self.name = link.namespace
        self.address = address
        self.port = 22
        self.root = files.root  # without /proc, /tmp and /run: those are gone when it is off; see `running_root`
        self.key_file = key_file
        self.options = options
        self._files = files
        self._link = link
        self._cut = False
        self._power: subprocess.Popen[str] | None = None

    # Who it is

    @property
    def user(self) -> str:
        return self.options.user

    @property
    def password(self) -> str:
        return self.options.password

    @property
    def host_key(self) -> str:
        return self._files.host_key

    @property
    def known_hosts_line(self) -> str:
        return f"{self.address} {self.host_key}"

    @property
    def sshd_log(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "var/log/sshd.log").read_text()
        return ""

    @property
    def running_root(self) -> Path:
        """Its files as its own processes see them."""
        return Path(f"/proc/{self._init}/root")

    # Power

    def power_on(self) -> None:
        """A new boot on the same files."""
        assert self._power is None, f"{self.name} is on already"
        boot_id = self._files.folder / "boot_id"
        boot_id.write_text(f"{uuid.uuid4()}\n")
        network = ["nsenter", f"--net=/run/netns/{self._link.namespace}"]
        namespaces = ["unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--uts"]
        boot = ["sh", "-c", _BOOT, "sh", str(self.root), self.name, str(boot_id)]
        self._power = subprocess.Popen(
            [*network, *namespaces, *boot],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(self._files.folder / "console.log").open("a"),
            env={"PATH": _PATH},
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal is for the tests
        )
        assert self._power.stdout is not None
        with self._power.stdout as said:
            if said.readline() != "up\n":
                raise RuntimeError(f"{self.name} does not start: {(self._files.folder / 'console.log').read_text()}")
        self._set_link()
        self.start_sshd()

    def power_off(self) -> None:
        """As when the plug is pulled: no process says goodbye, and nobody on the network hears of it."""
        if self._power is None:
            return
        power, init = self._power, self._init
        command("ip", "link", "set", self._link.name, "down")
        os.kill(init, signal.SIGKILL)  # the first process takes all others with it
        power.wait(_START_WITHIN_S)
        self._power = None

    # Network

    def cut(self) -> None:
        """Pull the cable: all goes on, but nothing comes through."""
        self._cut = True
        self._set_link()

    def mend(self) -> None:
        self._cut = False
        self._set_link()

    def _set_link(self) -> None:
        up = self._power is not None and not self._cut
        command("ip", "link", "set", self._link.name, "up" if up else "down")

    # SSH

    def start_sshd(self) -> None:
        self.run(["/usr/sbin/sshd", "-f", "/etc/ssh/sshd_config", "-E", "/var/log/sshd.log"])
        for _ in polls(_START_WITHIN_S):
            if self._listens():
                return
        raise RuntimeError(f"sshd of {self.name} does not listen: {self.sshd_log[-2000:]}")

    def kill_sshd(self) -> None:
        """The listening one and those that serve connections; what they had started is left alone."""
        self._kill(r"^(/usr/sbin/)?sshd\b")

    def change_host_key(self) -> None:
        self._files.new_host_key()
        self._restart_listening()

    def set_fake_gpus(self, fake_gpus: str) -> None:
        """For logins from now on."""
        self._configure(replace(self.options, fake_gpus=fake_gpus))

    def set_key_login(self, allowed: bool) -> None:
        self._configure(replace(self.options, key_login=allowed))

    def _configure(self, options: HostOptions) -> None:
        self.options = options
        self._files.write_sshd_config(options)
        self._restart_listening()

    def _restart_listening(self) -> None:
        """Open connections stay as they are."""
        self._kill(r"^sshd: .*\[listener\]")
        self.start_sshd()

    def _listens(self) -> bool:
        rows = [line.split() for line in Path(f"/proc/{self._init}/net/tcp").read_text().splitlines()[1:]]
        return any(row[1].endswith(f":{self.port:04X}") and row[3] == "0A" for row in rows)

    # Processes

    def run(self, argv: Sequence[str], given: str | None = None) -> str:
        """A command at the host's console, as root and without SSH; what it printed."""
        enter = ["nsenter", f"--target={self._init}", "--mount", "--net", "--pid", "--uts", "--root", "--wd"]
        return command(*enter, "env", "-i", f"PATH={_PATH}", "HOME=/root", *argv, given=given)

    def processes(self, pattern: str = "") -> dict[int, str]:
        """Its living processes whose command line matches: pids as the host itself sees them, with command lines."""
        return {inner: line for _, inner, line in self._matching(pattern)}

    def freeze(self, pattern: str) -> None:
        """Stop the matching processes where they are; they do not notice."""
        self._signal(pattern, signal.SIGSTOP)

    def thaw(self, pattern: str) -> None:
        self._signal(pattern, signal.SIGCONT)

    def kill(self, pattern: str) -> None:
        assert self._matching(pattern), f"{self.name} runs nothing like {pattern!r}: {self.processes()}"
        self._kill(pattern)

    def _signal(self, pattern: str, number: signal.Signals) -> None:
        found = list(self._matching(pattern))
        assert found, f"{self.name} runs nothing like {pattern!r}: {self.processes()}"
        for pid, _, _ in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _kill(self, pattern: str) -> None:
        for _ in polls(_START_WITHIN_S):
            found = self._matching(pattern)
            if not found:
                return
            for pid, _, _ in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        raise RuntimeError(f"processes of {self.name} do not end: {found}")

    def _matching(self, pattern: str) -> list[tuple[int, int, str]]:
        """The pid here, the pid there, and the command line. The first process is the host itself and left out."""
        return [found for found in self._all_processes() if found[1] != 1 and re.search(pattern, found[2])]

    def _all_processes(self) -> Iterator[tuple[int, int, str]]:
        space = Path(f"/proc/{self._init}/ns/pid").readlink()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if (entry / "ns/pid").readlink() != space:
                    continue
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                status = (entry / "status").read_text()
                if line and not re.search(r"^State:\s+[ZX]", status, re.MULTILINE):
                    (inner,) = re.findall(r"^NSpid:.*\s(\d+)$", status, re.MULTILINE)
                    yield int(entry.name), int(inner), line

    @property
    def _init(self) -> int:
        assert self._power is not None, f"{self.name} is off"
        pid = self._power.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    # Files

    def write_names(self, addresses: Mapping[str, str]) -> None:
        """Which names it knows: addresses by name."""
        self._files.write_names(addresses)

    def share(self, source: Path, path: Path | None = None) -> None:
        """A folder of the machine at this path on the host, or at its own path, instead of what was shared there."""
        with contextlib.suppress(NotShared):
            self.unshare(path or source)
        self._files.bind(source, path)

    def unshare(self, path: Path) -> None:
        """As when a network folder is not mounted: its path is there and empty."""
        if not self._files.is_bound(path):
            raise NotShared(f"{self.name} has nothing shared at {path}")
        self._files.unbind(path)

    def fill_disk(self) -> None:
        """Leave no byte on its own small disk (see `HostOptions.disk_mib`)."""
        assert self.options.disk_mib, f"{self.name} has no disk of its own: make it with disk_mib"
        with self._filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(65536)):
                pass

    def free_disk(self) -> None:
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        return self.root / DISK.lstrip("/") / "filler"


class NotShared(LookupError):
    """There is nothing shared at that path."""
