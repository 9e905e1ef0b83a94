"""The files of one test host: the machine's own root below, and what is changed there on top.

Homes and /var/tmp are empty, as on a fresh machine. Nothing here runs on the host; see `host.py`.
"""

import json
import os
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.parts.host_claims import command
from tests.parts.host_logins import AUTHORIZED_KEYS, HOST_KEY, PLAIN_ID, PLAIN_USER, sshd_config, user_lines

DISK = "/var/muster"
SSHD_CONFIG = "/etc/ssh/sshd_config"
SSHD_LOG = "/var/log/sshd.log"

_TASK_HELPER = Path(__file__).parents[2] / "deploy" / "task-helper"
_EMPTY = ("root", "home", "var/tmp")
_VOLATILE = {"/tmp": "1777", "/run": "755"}


@dataclass(frozen=True)
class HostOptions:
    """What a host is. `user` is who the tests log in as: root, or PLAIN_USER; both exist on every host."""

    user: str = "root"
    key_login: bool = True
    password: str = ""  # of both users; empty: nobody logs in by password
    fake_gpus: str = ""  # as in MUSTER_FAKE_GPUS
    python: Path | None = None  # what `python3` is there; None: the machine's own
    user_namespaces: bool = True  # whether plain users may make some in which they can mount anything
    task_helper: bool = False  # whether PLAIN_USER may call the task helper by sudo; their home is closed then
    disk_mib: int = 0  # a small filesystem of its own at DISK; 0: none


class HostFiles:
    """An overlay that stays mounted while the host is off, so that a test may look at it at any time."""

    def __init__(self, folder: Path, name: str, options: HostOptions) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.boot_id = folder / "boot_id"
        self._name = name
        self._shared: dict[str, Path] = {}
        self._running = False
        self._make(options)

    def path(self, inner: str | Path) -> Path:
        """Where a test finds a file of the host."""
        return self.root / str(inner).lstrip("/")

    def write(self, inner: str, content: str, mode: int = 0o644) -> None:
        """A file of the host, replaced as a whole."""
        target = self.path(inner)
        target.unlink(missing_ok=True)
        target.touch(mode)
        target.write_text(content)

    # Booting

    def start(self) -> None:
        """What every boot finds anew. It is mounted out here, so that the tests see it, too."""
        self.boot_id.write_text(f"{uuid.uuid4()}\n")
        for inner, mode in _VOLATILE.items():
            self._mount("tmpfs", inner, "-t", "tmpfs", "-o", f"mode={mode}")
        self.path("/run/sshd").mkdir()
        for inner, source in self._shared.items():
            self._mount(source, inner, "--bind")
        self._running = True

    def stop(self) -> None:
        self._running = False
        for inner in [*self._shared, *_VOLATILE]:
            self._unmount(inner)

    # Sharing

    def share(self, source: Path, inner: str) -> None:
        self._shared[inner] = source
        if self._running:
            self._mount(source, inner, "--bind")

    def unshare(self, inner: str) -> None:
        del self._shared[inner]
        if self._running:
            self._unmount(inner)

    def is_shared(self, inner: str) -> bool:
        return inner in self._shared

    # Settings

    def write_names(self, addresses: Mapping[str, str]) -> None:
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
        self.write("/etc/hosts", "\n".join(lines) + "\n")

    def write_sshd_config(self, options: HostOptions) -> None:
        environment = {"MUSTER_FAKE_GPUS": options.fake_gpus} if options.fake_gpus else {}
        self.write(SSHD_CONFIG, sshd_config(options.key_login, bool(options.password), environment))

    def write_authorized_key(self, key: str) -> None:
        self.write(AUTHORIZED_KEYS, key)

    def new_host_key(self) -> None:
        new_key(self.path(HOST_KEY), self._name)

    @property
    def host_key(self) -> str:
        words = self.path(f"{HOST_KEY}.pub").read_text().split()
        return f"{words[0]} {words[1]}"

    # Making

    def _make(self, options: HostOptions) -> None:
        self._mount_overlay()
        self.path("/var/tmp").chmod(0o1777)
        self.path("/root").chmod(0o711)  # an interpreter that all may use may lie below
        self._reveal(Path(sys.base_prefix))  # else virtual environments of this machine had none there
        if options.python is not None:
            self._set_python(options.python)
        if options.disk_mib:
            self._mount("tmpfs", DISK, "-t", "tmpfs", "-o", f"size={options.disk_mib}m,mode=1777")
        self._add_users(options.password)
        if options.task_helper:
            self._install_task_helper()
        self.write("/etc/hostname", f"{self._name}\n")
        self.write("/etc/machine-id", f"{uuid.uuid4().hex}\n")
        self.write_sshd_config(options)
        self.new_host_key()

    def _mount_overlay(self) -> None:
        upper, work = self.folder / "upper", self.folder / "work"
        for path in (self.root, upper, work):
            path.mkdir(parents=True)
        for empty in _EMPTY:
            (upper / empty).mkdir(parents=True)
            os.setxattr(upper / empty, "trusted.overlay.opaque", b"y")
        mount_overlay(upper, work, self.root)
        # What is mounted here later appears on the running host, too.
        command("mount", "--make-shared", self.root)

    def _set_python(self, python: Path) -> None:
        self._reveal(python.parent.parent)
        link = self.path("/usr/local/bin/python3")
        link.unlink(missing_ok=True)
        link.symlink_to(python)

    def _reveal(self, prefix: Path) -> None:
        """An interpreter of the machine that the host would not see: it lies in a home or on another disk."""
        if not self.path(prefix / "bin").is_dir():
            self._mount(prefix, str(prefix), "--bind", "-o", "ro")

    def _add_users(self, password: str) -> None:
        home = self.path(f"/home/{PLAIN_USER}")
        home.mkdir(mode=0o755)
        os.chown(home, PLAIN_ID, PLAIN_ID)
        for inner, lines in user_lines(password).items():
            kept = [line for line in self.path(inner).read_text().splitlines() if line.split(":")[0] not in lines]
            mode = 0o600 if inner.endswith("shadow") else 0o644
            self.write(inner, "\n".join([*kept, *lines.values()]) + "\n", mode)

    def _install_task_helper(self) -> None:
        """As the guide to isolation says."""
        self.path("/usr/local/lib/muster").mkdir(parents=True)
        self.path("/etc/muster").mkdir()
        self.write("/usr/local/lib/muster/task-helper", _TASK_HELPER.read_text(), 0o755)
        settings = {"agent": PLAIN_USER, "root": f"/home/{PLAIN_USER}/.muster-node"}
        self.write("/etc/muster/task-helper.json", json.dumps(settings))
        rule = f"{PLAIN_USER} ALL=(root) NOPASSWD: /usr/local/lib/muster/task-helper\n"
        self.write("/etc/sudoers.d/muster", rule, 0o440)
        self.path(f"/home/{PLAIN_USER}").chmod(0o700)

    def _mount(self, source: str | Path, inner: str, *options: str) -> None:
        self.path(inner).mkdir(parents=True, exist_ok=True)
        command("mount", *options, source, self.path(inner))

    def _unmount(self, inner: str) -> None:
        command("umount", "--lazy", self.path(inner))


def new_key(path: Path, comment: str) -> None:
    for old in (path, path.with_name(f"{path.name}.pub")):
        old.unlink(missing_ok=True)
    command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path)


def mount_overlay(upper: Path, work: Path, root: Path) -> None:
    """The machine's own root, with its changes in `upper`: which may lie below it, but not on another overlay."""
    command("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", root)
