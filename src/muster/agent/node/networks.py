"""The addresses that this machine has in its networks."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import os
import socket
import struct
from typing import Iterator, List, Tuple

_SIOCGIFCONF = 0x8912
_ENTRY_BYTES = 40 if struct.calcsize("P") == 8 else 32
_NAME_BYTES = 16
_MOST = 256


def network_addresses() -> List[str]:
    """Those of version 4 at which other machines may reach this one: not loopback and link-local ones, and not those of
    bridges, which belong to containers and virtual machines on this machine, and to others on every other machine."""
    return [address for interface, address in _all() if _is_reachable(address) and not _is_bridge(interface)]


def _all() -> Iterator[Tuple[str, str]]:
    found = array.array("B", bytes(_ENTRY_BYTES * _MOST))
    start, length = found.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFCONF, struct.pack("iP", length, start))
        except OSError:
            return
    (used,) = struct.unpack_from("i", answer)
    data = found.tobytes()
    for place in range(0, used, _ENTRY_BYTES):
        name = data[place : place + _NAME_BYTES].split(b"\0")[0]
        # Behind the name there is a socket address: its family, a port, and then the address itself.
        address = data[place + _NAME_BYTES + 4 : place + _NAME_BYTES + 8]
        yield os.fsdecode(name).split(":")[0], socket.inet_ntoa(address)


def _is_reachable(address: str) -> bool:
    found = ipaddress.IPv4Address(address)
    return not (found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast)


def _is_bridge(interface: str) -> bool:
    return os.path.exists("/sys/class/net/{}/bridge".format(interface))
