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

from tests.parts.host import Host, Link
from tests.parts.host_claims import PATH, CommandFailed, claim_number, command, remove
from tests.parts.host_files import DISK, PLAIN_USER, HostFiles, HostOptions, new_key

__all__ = ["DISK", "PLAIN_USER", "Host", "HostOptions", "HostPool", "hosts_unavailable"]

_TOOLS = ("sshd", "ssh-keygen", "ip", "unshare", "nsenter", "openssl")
_FOLDERS = ("/var/tmp", "/tmp", "/dev/shm")


class HostPool:
    """Hosts that reach each other, and a machine that reaches them all.

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
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getitem__(self, index: int) -> Host:
        return self.hosts[index]

    def close(self) -> None:
        for host in self.everyone:
            host.power_off()
        remove(self._claim)

    @property
    def everyone(self) -> list[Host]:
        return self.hosts + self.behind

    @property
    def address(self) -> str:
        """Where hosts reach this machine."""
        return str(self._claim.front[1])

    @property
    def jump(self) -> Host:
        return self.hosts[0]

    @property
    def key_file(self) -> Path:
        return self._claim.folder / "key"

    @property
    def known_hosts(self) -> str:
        return "".join(f"{host.known_hosts_line}\n" for host in self.everyone)

    def add(self, options: HostOptions | None = None) -> Host:
        """One more host."""
        number = len(self.everyone)
        host = self._host(number, f"{self._claim.prefix}front", f"{self._claim.front[number + 10]}/24", options)
        self.hosts.append(host)
        self._start(host)
        return host

    def share(self, path: Path) -> None:
        """The same folder of the machine on all hosts, at the same path, like a network folder."""
        for host in self.everyone:
            host.share(path)

    def _make(self) -> None:
        new_key(self.key_file, "tests of muster")
        self._add_bridge("front")
        command("ip", "address", "add", f"{self.address}/24", "dev", f"{self._claim.prefix}front")
        for options in self._wanted:
            self.add(options)
        if self._wanted_behind:
            self._make_behind()

    def _make_behind(self) -> None:
        self._add_bridge("back")
        # Without an address there this machine would ask its gateway for them.
        command("ip", "route", "add", "unreachable", str(self._claim.back))
        bridge = f"{self._claim.prefix}back"
        _connect(Link(f"{self._claim.prefix}jump", self.jump.name), bridge, f"{self._claim.back[10]}/24", "eth1")
        command("ip", "link", "set", f"{self._claim.prefix}jump", "up")
        for options in self._wanted_behind:
            number = len(self.everyone)
            host = self._host(number, bridge, f"{self._claim.back[number + 10]}/24", options)
            self.behind.append(host)
            self._start(host)

    def _add_bridge(self, side: str) -> None:
        bridge = f"{self._claim.prefix}{side}"
        command("ip", "link", "add", bridge, "type", "bridge")
        command("ip", "link", "set", bridge, "addrgenmode", "none", "up")

    def _host(self, number: int, bridge: str, address: str, options: HostOptions | None) -> Host:
        options = options or HostOptions()
        name = f"{self._claim.prefix}h{number}"
        link = Link(name, name)
        files = HostFiles(self._claim.folder / name, name, options)
        files.new_host_key()
        files.write_authorized_key(self.key_file.with_name("key.pub").read_text())
        files.write_sshd_config(options)
        command("ip", "netns", "add", name)
        command("ip", "-netns", name, "link", "set", "lo", "up")
        _connect(link, bridge, address, "eth0")
        return Host(files, link, address.split("/")[0], options, self.key_file)

    def _start(self, host: Host) -> None:
        host.power_on()
        for each in self.everyone:
            each.write_names({other.name: other.address for other in self.everyone})


def _connect(link: Link, bridge: str, address: str, name: str) -> None:
    command("ip", "link", "add", link.name, "type", "veth", "peer", name, "netns", link.namespace)
    command("ip", "link", "set", link.name, "addrgenmode", "none", "master", bridge)
    command("ip", "-netns", link.namespace, "address", "add", address, "dev", name)
    command("ip", "-netns", link.namespace, "link", "set", name, "up")


@cache
def hosts_unavailable() -> str | None:
    """Why no pool can be made here; None when it can."""
    if os.geteuid() != 0:
        return "hosts need root: namespaces, mounts and links are made"
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=PATH) is None]
    if missing:
        return f"hosts need {', '.join(missing)}: run scripts/install-test-parts.sh"
    try:
        command("unshare", "--mount", "--pid", "--fork", "--uts", "--net", "true")
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
                command("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", top)
            except CommandFailed as error:
                said.append(str(error))
                continue
            command("umount", top)
            return parent
    raise CommandFailed("; ".join(said))
