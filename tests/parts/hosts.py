"""A pool of real SSH hosts on this one machine, for tests: `with HostPool(4) as pool: pool[0].cut()`.

Each host has an address, processes, files and a name of its own; the tests, and servers that they start, reach it over
a bridge. Needs root and some tools: `hosts_unavailable()` says what is missing. It must leave nothing behind.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.parts.host import Host
from tests.parts.host_claims import PATH, CommandFailed, claim_number, command, remove
from tests.parts.host_files import DISK, HostFiles, HostOptions, mount_overlay, new_key
from tests.parts.host_logins import PLAIN_USER
from tests.parts.host_network import Bridge, make_namespace
from tests.parts.old_python import oldest_python

__all__ = ["DISK", "PLAIN_USER", "Host", "HostOptions", "HostPool", "hosts_unavailable", "oldest_python"]

_TOOLS = ("sshd", "ssh-keygen", "ip", "unshare", "nsenter", "openssl")
_TRY = "mount -t proc proc /proc && mount -t sysfs sysfs /sys && ip link add type veth && ip link add type bridge"
_FOLDERS = ("/var/tmp", "/tmp", "/dev/shm")


class HostPool:
    """Hosts that reach each other, and this machine that reaches them all.

    With hosts `behind`, the first of the others is the only way to those: it has a link to each side.
    """

    def __init__(self, hosts: int | Sequence[HostOptions], behind: Sequence[HostOptions] = ()) -> None:
        self._wanted = [HostOptions()] * hosts if isinstance(hosts, int) else list(hosts)
        self._wanted_behind = list(behind)
        assert self._wanted or not behind, "hosts behind a jump host need one"
        self.hosts: list[Host] = []
        self.behind: list[Host] = []

    def __enter__(self) -> Self:
        self._claim = claim_number(_folder() / "muster-test-hosts")
        self._front = Bridge(f"{self._claim.prefix}front", self._claim.front)
        self._back = Bridge(f"{self._claim.prefix}back", self._claim.back)
        try:
            self._make()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def __getitem__(self, index: int) -> Host:
        return self.hosts[index]

    @property
    def everyone(self) -> list[Host]:
        return self.hosts + self.behind

    @property
    def jump(self) -> Host:
        return self.hosts[0]

    @property
    def address(self) -> str:
        """Where hosts reach this machine."""
        return self._front.own_address

    @property
    def key_file(self) -> Path:
        return self._claim.folder / "key"

    @property
    def known_hosts(self) -> str:
        """The content of a file of that name."""
        return "".join(f"{host.known_hosts_line}\n" for host in self.everyone)

    @property
    def sshd_logs(self) -> dict[str, str]:
        return {host.name: host.sshd_log for host in self.everyone}

    def add(self, options: HostOptions | None = None) -> Host:
        """One more host that this machine reaches."""
        return self._add(self.hosts, self._front, options or HostOptions())

    def share(self, source: Path, path: Path | None = None) -> None:
        """The same folder of the machine on all hosts, like a network folder: see `Host.share`."""
        for host in self.everyone:
            host.share(source, path)

    def _make(self) -> None:
        new_key(self.key_file, "tests of muster")
        self._front.make()
        self._front.join()
        for options in self._wanted:
            self.add(options)
        if self._wanted_behind:
            self._back.make()
            self._back.stay_out()
            self._back.plug(0, f"{self._claim.prefix}jump", self.jump.name, "eth1").set_up(True)
        for options in self._wanted_behind:
            self._add(self.behind, self._back, options)

    def _add(self, side: list[Host], bridge: Bridge, options: HostOptions) -> Host:
        number = len(self.everyone)
        name = f"{self._claim.prefix}h{number}"
        files = HostFiles(self._claim.folder / name, name, options)
        files.write_authorized_key(self.key_file.with_name("key.pub").read_text())
        make_namespace(name)
        host = Host(files, bridge.plug(number, name, name, "eth0"), options, self.key_file)
        side.append(host)
        host.power_on()
        for each in self.everyone:
            each.write_names({other.name: other.address for other in self.everyone})
        return host

    def _close(self) -> None:
        try:
            for host in self.everyone:
                host.power_off()
        finally:
            remove(self._claim)


@cache
def hosts_unavailable() -> str | None:
    """Why no pool can be made here; None when it can."""
    if os.geteuid() != 0:
        return "hosts need root: namespaces, mounts and links are made"
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=PATH) is None]
    if missing:
        return f"hosts need {', '.join(missing)}: run scripts/install-test-parts.sh"
    try:
        command("unshare", "--mount", "--pid", "--fork", "--uts", "--net", "sh", "-c", _TRY)
        _folder()
    except CommandFailed as error:
        return f"hosts need namespaces and an overlay of the root: {error}"
    return None


@cache
def _folder() -> Path:
    """Where an overlay of the root may keep its changes: not on an overlay, as in a container."""
    said = []
    for parent in filter(Path.is_dir, map(Path, _FOLDERS)):
        with tempfile.TemporaryDirectory(prefix="muster-overlay-", dir=parent) as name:
            top, upper, work = (Path(name) / part for part in ("top", "upper", "work"))
            for part in (top, upper, work):
                part.mkdir()
            try:
                mount_overlay(upper, work, top)
            except CommandFailed as error:
                said.append(str(error))
                continue
            command("umount", top)
            return parent
    raise CommandFailed("; ".join(said))
