"""The files of one test host: the machine's own root below, and what is changed there on top.

Homes and /var/tmp are empty, as on a fresh machine. Nothing here runs on the host; see `host.py`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.parts.host_claims import command, mounts_below

PLAIN_USER = "ada"
DISK = "/var/muster"

_HIDDEN = ("root", "home", "var/tmp")
_SSH = Path("etc/ssh")


@dataclass(frozen=True)
class HostOptions:
    """What a host is. `user` is who the tests log in as: root, or PLAIN_USER, who both exist on every host."""

    user: str = "root"
    key_login: bool = True
    password: str = ""  # of both users; empty: nobody logs in by password
    fake_gpus: str = ""  # as in MUSTER_FAKE_GPUS
    python: Path | None = None  # what `python3` is there; None: the machine's own
    disk_mib: int = 0  # a small filesystem of its own at /var/muster


class HostFiles:
    """An overlay that stays mounted while the host is off, so that a test may look at it at any time."""

    def __init__(self, folder: Path, name: str, options: HostOptions) -> None:
        self.folder = folder
        self.root = folder / "root"
        self._name = name
        self._upper, self._work = folder / "upper", folder / "work"
        self._make(options)

    def _make(self, options: HostOptions) -> None:
        for path in (self.root, self._upper, self._work):
            path.mkdir(parents=True)
        for hidden in _HIDDEN:
            path = self._upper / hidden
            path.mkdir(parents=True)
            os.setxattr(path, "trusted.overlay.opaque", b"y")
        layers = f"lowerdir=/,upperdir={self._upper},workdir={self._work}"
        command("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        # What is mounted here later appears on the running host, too.
        command("mount", "--make-shared", self.root)
        (self.root / "var/tmp").chmod(0o1777)
        (self.root / "root").chmod(0o711)  # an interpreter may lie below
        self.bind(Path(sys.base_prefix))  # else virtual environments of this machine had no interpreter there
        if options.python is not None:
            self._set_python(options.python)
        if options.disk_mib:
            self._mount("tmpfs", "tmpfs", DISK, "-o", f"size={options.disk_mib}m,mode=1777")
        self._add_users(options.password)
        self.write("etc/hostname", f"{self._name}\n")

    def write(self, path: str | Path, content: str, mode: int = 0o644) -> None:
        """A file of the host, replaced as a whole."""
        target = self.root / path
        target.unlink(missing_ok=True)
        target.touch(mode)
        target.write_text(content)

    def bind(self, source: Path, target: Path | None = None) -> None:
        """A folder of the machine on the host, at the same path or at `target`."""
        self._mount("--bind", str(source), str(target or source))

    def unbind(self, target: Path) -> None:
        command("umount", "--lazy", self._place(str(target)))

    def is_bound(self, target: Path) -> bool:
        return str(self._place(str(target))) in mounts_below(self.folder)

    def write_names(self, addresses: Mapping[str, str]) -> None:
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
        self.write("etc/hosts", "\n".join(lines) + "\n")

    def write_sshd_config(self, options: HostOptions) -> None:
        self.write(_SSH / "sshd_config", _sshd_config(options))

    def write_authorized_key(self, key: str) -> None:
        self.write(_SSH / "test_keys", key + "\n")

    def new_host_key(self) -> None:
        private = self.root / _SSH / "ssh_host_ed25519_key"
        private.unlink(missing_ok=True)
        new_key(private, self._name)

    @property
    def host_key(self) -> str:
        words = (self.root / _SSH / "ssh_host_ed25519_key.pub").read_text().split()
        return f"{words[0]} {words[1]}"

    def _mount(self, kind: str, source: str, target: str, *options: str) -> None:
        place = self._place(target)
        place.mkdir(parents=True, exist_ok=True)
        flags = [kind] if kind.startswith("--") else ["-t", kind]
        command("mount", *flags, *options, source, place)

    def _place(self, target: str) -> Path:
        return self.root / target.lstrip("/")

    def _set_python(self, python: Path) -> None:
        prefix = python.parent.parent
        if not self.is_bound(prefix) and any(prefix.is_relative_to(f"/{hidden}") for hidden in _HIDDEN):
            self.bind(prefix)
        link = self.root / "usr/local/bin/python3"
        link.unlink(missing_ok=True)
        link.symlink_to(python)

    def _add_users(self, password: str) -> None:
        # No "!" in front: without PAM that would lock out keys, too.
        secret = command("openssl", "passwd", "-6", "-stdin", given=password).strip() if password else "*"
        shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        home = self.root / "home" / PLAIN_USER
        home.mkdir(mode=0o755)
        os.chown(home, 4321, 4321)
        self._set_lines("etc/group", {PLAIN_USER: f"{PLAIN_USER}:x:4321:"})
        self._set_lines("etc/passwd", {PLAIN_USER: f"{PLAIN_USER}:x:4321:4321::/home/{PLAIN_USER}:{shell}"})
        shadow = {user: f"{user}:{secret}:20000:0:99999:7:::" for user in ("root", PLAIN_USER)}
        self._set_lines("etc/shadow", shadow, 0o600)

    def _set_lines(self, path: str, lines: Mapping[str, str], mode: int = 0o644) -> None:
        kept = [line for line in (self.root / path).read_text().splitlines() if line.split(":")[0] not in lines]
        self.write(path, "\n".join([*kept, *lines.values()]) + "\n", mode)


def new_key(path: Path, comment: str) -> None:
    path.with_name(f"{path.name}.pub").unlink(missing_ok=True)
    command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path)


def _sshd_config(options: HostOptions) -> str:
    settings = {
        "AddressFamily": "inet",
        "HostKey": "/etc/ssh/ssh_host_ed25519_key",
        "PidFile": "/run/sshd.pid",
        "AuthorizedKeysFile": "/etc/ssh/test_keys",
        "StrictModes": "no",
        "UsePAM": "no",
        "UseDNS": "no",
        "PermitRootLogin": "yes",
        "PubkeyAuthentication": _yes_no(options.key_login),
        "PasswordAuthentication": _yes_no(bool(options.password)),
        "KbdInteractiveAuthentication": "no",
        "MaxStartups": "500",
        "MaxSessions": "500",
        "MaxAuthTries": "20",
        "Subsystem": "sftp internal-sftp",
        "PrintMotd": "no",
        "PrintLastLog": "no",
        "LogLevel": "VERBOSE",
    }
    if options.fake_gpus:
        settings["SetEnv"] = f"MUSTER_FAKE_GPUS={options.fake_gpus}"
    if _ssh_version() >= (9, 8):
        settings["PerSourcePenalties"] = "no"  # else wrong passwords of one test lock out the next
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


@cache
def _ssh_version() -> tuple[int, int]:
    said = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=False).stderr
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)
