"""Cables between test hosts: a bridge is a switch, and a host is plugged into it by a link that may be cut."""

import ipaddress
from dataclasses import dataclass

from tests.parts.host_claims import command

_FIRST_HOST = 10


@dataclass(frozen=True)
class Link:
    """A host's cable, known by its end at the switch, which lives in this machine's namespace."""

    name: str
    namespace: str
    address: str

    def set_up(self, up: bool) -> None:
        command("ip", "link", "set", self.name, "up" if up else "down")


@dataclass(frozen=True)
class Bridge:
    name: str
    network: ipaddress.IPv4Network

    @property
    def own_address(self) -> str:
        """Of this machine, if it has one there."""
        return str(self.network[1])

    def make(self) -> None:
        command("ip", "link", "add", self.name, "type", "bridge")
        command("ip", "link", "set", self.name, "addrgenmode", "none", "up")

    def join(self) -> None:
        """This machine reaches the hosts, and they reach it."""
        command("ip", "address", "add", f"{self.own_address}/{self.network.prefixlen}", "dev", self.name)

    def stay_out(self) -> None:
        """This machine does not reach the hosts; without a word about it, it would ask its gateway for them."""
        command("ip", "route", "add", "unreachable", str(self.network))

    def plug(self, number: int, name: str, namespace: str, device: str) -> Link:
        """A new link, down at the switch, to a new device of the namespace."""
        link = Link(name, namespace, str(self.network[_FIRST_HOST + number]))
        command("ip", "link", "add", name, "type", "veth", "peer", device, "netns", namespace)
        command("ip", "link", "set", name, "addrgenmode", "none", "master", self.name)
        inside = ["ip", "-netns", namespace]
        command(*inside, "address", "add", f"{link.address}/{self.network.prefixlen}", "dev", device)
        command(*inside, "link", "set", device, "up")
        return link


def make_namespace(name: str) -> None:
    command("ip", "netns", "add", name)
    command("ip", "-netns", name, "link", "set", "lo", "up")
