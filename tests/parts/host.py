"""One SSH host of a test pool: its own address, processes, files and host name, and every way in which it may fail.

A host is a set of namespaces on this machine. It is made by `hosts.HostPool`, and removed with it.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.parts.host_claims import command
from tests.parts.host_files import DISK, SSHD_CONFIG, SSHD_LOG, HostFiles, HostOptions
from tests.parts.host_network import Link
from tests.parts.host_processes import kill_processes, processes_of, signal_processes
from tests.parts.server import polls

_WITHIN_S = 60.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Arguments: the root of the host, its name, a file with the id of this boot, and whether its users may make namespaces.
# The first process waits, so that it collects the children of processes that ended before them. The root is the root of
# the mount namespace, and a second /proc has nothing on top of it: otherwise the kernel lets nobody mount one.
_BOOT = """
set -e
mount -t proc proc "$1/proc"
mount --bind "$3" "$1/proc/sys/kernel/random/boot_id"
mount -t sysfs -o ro sysfs "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
if [ "$4" = yes ]; then
  mkdir "$1/run/plain-proc"
  mount -t proc proc "$1/run/plain-proc"
fi
hostname "$2"
cd "$1"
pivot_root . .
umount -l .
exec chroot . /bin/sh -c 'echo up; exec >/dev/null; sleep infinity & wait'
"""


class NotShared(LookupError):
    """There is nothing shared at that path."""


class Host:
    def __init__(self, files: HostFiles, link: Link, options: HostOptions, key_file: Path) -> None:
        self.name = link.namespace
        self.address = link.address
        self.port = 22
        self.options = options
        self.key_file = key_file
        self.root = files.root  # its files as the tests reach them, on or off; without /proc, /sys and /dev
        self._files = files
        self._link = link
        self._cut = False
        self._power: subprocess.Popen[str] | None = None

    def __repr__(self) -> str:
        return f"<host {self.name} {self.address} {'on' if self.is_on else 'off'}{', cut off' if self._cut else ''}>"

    @property
    def user(self) -> str:
        return self.options.user

    @property
    def password(self) -> str:
        return self.options.password

    @property
    def host_key(self) -> str:
        """The public one: its kind and the key."""
        return self._files.host_key

    @property
    def known_hosts_line(self) -> str:
        return f"{self.address} {self.host_key}"

    @property
    def sshd_log(self) -> str:
        log = self.path(SSHD_LOG)
        return log.read_text() if log.exists() else ""

    def path(self, inner: str | Path) -> Path:
        """Where the tests find a file of the host."""
        return self._files.path(inner)

    # Power

    @property
    def is_on(self) -> bool:
        return self._power is not None

    def power_on(self) -> None:
        """A new boot on the same files."""
        assert not self.is_on, f"{self.name} is on already"
        self._files.start()
        console = self._files.folder / "console.log"
        network = ["nsenter", f"--net=/run/netns/{self._link.namespace}"]
        namespaces = ["unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--uts"]
        boot = ["sh", "-c", _BOOT, "sh", str(self.root), self.name, str(self._files.boot_id)]
        boot.append("yes" if self.options.user_namespaces else "no")
        with console.open("a") as errors:
            self._power = subprocess.Popen(
                [*network, *namespaces, *boot],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={"PATH": _PATH},
                text=True,
                start_new_session=True,  # Ctrl-C in a terminal is for the tests
            )
        assert self._power.stdout is not None
        with self._power.stdout as said:
            if said.readline() != "up\n":
                raise RuntimeError(f"{self.name} does not start: {console.read_text()}")
        self._set_link()
        self.start_sshd()

    def power_off(self) -> None:
        """As when the plug is pulled: no process says goodbye, and nobody on the network hears of it."""
        if self._power is None:
            return
        init, power, self._power = self._init, self._power, None
        self._set_link()
        os.kill(init, signal.SIGKILL)  # the first process takes all others with it
        power.wait(_WITHIN_S)
        self._files.stop()

    @property
    def _init(self) -> int:
        assert self._power is not None, f"{self.name} is off"
        pid = self._power.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    # Network

    def cut(self) -> None:
        """Pull the cable: all goes on, but nothing comes through."""
        self._cut = True
        self._set_link()

    def mend(self) -> None:
        self._cut = False
        self._set_link()

    def _set_link(self) -> None:
        self._link.set_up(self.is_on and not self._cut)

    def write_names(self, addresses: Mapping[str, str]) -> None:
        """Which names of others it knows: addresses by name."""
        self._files.write_names(addresses)

    # SSH

    def start_sshd(self) -> None:
        self.run(["/usr/sbin/sshd", "-f", SSHD_CONFIG, "-E", SSHD_LOG])
        for _ in polls(_WITHIN_S):
            if self._listens():
                return
        raise RuntimeError(f"sshd of {self.name} does not listen: {self.sshd_log[-2000:]}")

    def kill_sshd(self) -> None:
        """The listening one and those that serve connections; what they had started is left alone."""
        kill_processes(self._init, r"^(/\S*/)?sshd(-session)?\b")

    def change_host_key(self) -> None:
        self._files.new_host_key()
        self._restart_listening()

    def set_fake_gpus(self, fake_gpus: str) -> None:
        """For logins from now on."""
        self._configure(replace(self.options, fake_gpus=fake_gpus))

    def allow_key_login(self, allowed: bool) -> None:
        """For logins from now on."""
        self._configure(replace(self.options, key_login=allowed))

    def _configure(self, options: HostOptions) -> None:
        self.options = options
        self._files.write_sshd_config(options)
        self._restart_listening()

    def _restart_listening(self) -> None:
        """Open connections stay as they are."""
        kill_processes(self._init, r"^sshd: .*\[listener\]")
        self.start_sshd()

    def _listens(self) -> bool:
        rows = [line.split() for line in Path(f"/proc/{self._init}/net/tcp").read_text().splitlines()[1:]]
        return any(row[1].endswith(f":{self.port:04X}") and row[3] == "0A" for row in rows)

    # Processes

    def run(self, argv: Sequence[str], given: str | None = None) -> str:
        """A command at the host's console, as root and without SSH; what it printed."""
        return command(*self.entrance, "env", "-i", f"PATH={_PATH}", "HOME=/root", *argv, given=given)

    @property
    def entrance(self) -> list[str]:
        """What to write before a command of this machine, so that it runs on the host."""
        return ["nsenter", f"--target={self._init}", "--mount", "--net", "--pid", "--uts", "--root", "--wd"]

    def processes(self, pattern: str = "") -> dict[int, str]:
        """Its processes whose command line matches: command lines by the pids that the host itself sees."""
        if not self.is_on:
            return {}
        return {process.inner_pid: process.command for process in processes_of(self._init, pattern)}

    def freeze(self, pattern: str) -> None:
        """Stop the matching processes where they are; they do not notice."""
        signal_processes(self._init, pattern, signal.SIGSTOP)

    def thaw(self, pattern: str) -> None:
        signal_processes(self._init, pattern, signal.SIGCONT)

    def kill(self, pattern: str) -> None:
        """Every matching process, without a word."""
        kill_processes(self._init, pattern)

    # Files

    def share(self, source: Path, path: Path | None = None) -> None:
        """A folder of the machine at this path on the host, or at its own path, instead of what was shared there."""
        inner = path or source
        with contextlib.suppress(NotShared):
            self.unshare(inner)
        self._files.share(source, str(inner))

    def unshare(self, path: Path) -> None:
        """As when a network folder is not mounted: its path is there and empty."""
        if not self._files.is_shared(str(path)):
            raise NotShared(f"{self.name} has nothing shared at {path}")
        self._files.unshare(str(path))

    def fill_disk(self) -> None:
        """Leave no byte on its own small disk."""
        assert self.options.disk_mib, f"{self.name} has no disk of its own: make it with disk_mib"
        with self._filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(65536)):
                pass

    def free_disk(self) -> None:
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        return self.path(DISK) / "filler"
