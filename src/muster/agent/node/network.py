"""The network links of this machine: their traffic since the last sample, and their speed.

Links that are down are left out, and so is `lo`. So are the links of containers and virtual machines on this machine,
and the bridges between them: their traffic is counted where it leaves the machine, and most have names that are never
used again, each of which would stay in a metrics database as a series of its own.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, NamedTuple, Optional

from muster.agent.system.procfs import OpenFile

_LINKS = "/sys/class/net"
_SAMPLES_PER_LOOK = 15
"""The speed and the state of a link are read only at every fifteenth sample: they seldom change."""
_GUEST_PREFIXES = ("veth", "cali", "lxc", "vnet", "tap", "vif")


class Traffic(NamedTuple):
    received: int
    sent: int


class Link(NamedTuple):
    up: bool
    speed_mbit: Optional[int]
    of_guests: bool = False


class NetworkMeter:
    def __init__(self) -> None:
        self._file = OpenFile("/proc/net/dev")
        self._links: Dict[str, Link] = {}
        self._looks_left = 0
        self._before = parse_traffic(self._file.read())
        self._at = time.monotonic()

    def read(self) -> List[Dict[str, Any]]:
        now, at = parse_traffic(self._file.read()), time.monotonic()
        before, passed = self._before, at - self._at
        self._before, self._at = now, at
        self._look_at_links(now)
        return [
            describe(name, traffic, before.get(name, traffic), passed, self._links[name].speed_mbit)
            for name, traffic in now.items()
            if self._links[name].up and not self._links[name].of_guests
        ]

    def total(self) -> Traffic:
        """The traffic of all links at the last sample, those that are down included."""
        received = sum(traffic.received for traffic in self._before.values())
        return Traffic(received, sum(traffic.sent for traffic in self._before.values()))

    def _look_at_links(self, names: Dict[str, Traffic]) -> None:
        self._looks_left -= 1
        if self._looks_left < 0 or names.keys() != self._links.keys():
            self._looks_left = _SAMPLES_PER_LOOK
            self._links = {name: read_link(os.path.join(_LINKS, name)) for name in names}


def describe(name: str, now: Traffic, before: Traffic, passed_s: float, speed_mbit: Optional[int]) -> Dict[str, Any]:
    return {
        "name": name,
        "speed_mbit": speed_mbit,
        "rx_bytes": now.received,
        "tx_bytes": now.sent,
        "rx_bytes_s": _rate(now.received, before.received, passed_s),
        "tx_bytes_s": _rate(now.sent, before.sent, passed_s),
    }


def parse_traffic(data: bytes) -> Dict[str, Traffic]:
    found = {}
    for line in data.decode("utf-8", "replace").splitlines():
        name, colon, counters = line.partition(":")
        if colon and name.strip() != "lo":
            fields = counters.split()
            found[name.strip()] = Traffic(int(fields[0]), int(fields[8]))
    return found


def read_link(folder: str) -> Link:
    """A link without any information (in another system's /sys) counts as up, with an unknown speed."""
    state = _text(os.path.join(folder, "operstate"))
    speed = _text(os.path.join(folder, "speed"))
    known = speed.isdigit() and int(speed) > 0  # -1 and errors: virtual, or down
    is_up = state not in ("down", "lowerlayerdown", "notpresent")
    return Link(is_up, int(speed) if known else None, _is_of_guests(folder))


def _is_of_guests(folder: str) -> bool:
    """Returns True for a virtual link that is a bridge, a port of one, or named like a link to a container."""
    if os.path.exists(os.path.join(folder, "device")):
        return False
    on_a_bridge = any(os.path.exists(os.path.join(folder, part)) for part in ("bridge", "brport"))
    return on_a_bridge or os.path.basename(folder).startswith(_GUEST_PREFIXES)


def _rate(now: int, before: int, passed_s: float) -> float:
    """A counter that is smaller than before began anew, because its link was made again."""
    return round((now - before) / passed_s, 1) if passed_s > 0 and now >= before else 0.0


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
