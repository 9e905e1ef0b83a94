"""Which sockets listen on a port of this node, and whether they belong to a task.

All tasks of a node share its network, so that a port alone says nothing about whose it is: the process that listens
there does. Read from /proc, where every listening socket shows its number and every process the numbers of its own.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Iterable, Iterator, List, NamedTuple, Set

_LISTENS = "0A"
_V4_LOOPBACK = "127.0.0.1"
_V6_LOOPBACK = "::1"
_REACHED = {
    _V4_LOOPBACK: (_V4_LOOPBACK, "0.0.0.0", "::", "::ffff:127.0.0.1"),
    _V6_LOOPBACK: (_V6_LOOPBACK, "::"),
}
"""Which addresses a socket may listen on to be reached at ours."""


class Listener(NamedTuple):
    address: str
    port: int
    inode: int


def listeners(port: int, tables: Iterable[str]) -> List[Listener]:
    """The sockets that listen on the port, of the lines of /proc/net/tcp and /proc/net/tcp6."""
    return [one for table in tables for one in parsed(table) if one.port == port]


def parsed(table: str) -> Iterator[Listener]:
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTENS:
            address, _, port = fields[1].partition(":")
            yield Listener(_address(address), int(port, 16), int(fields[9]))


def reached(found: Iterable[Listener], address: str) -> List[Listener]:
    return [one for one in found if one.address in _REACHED[address]]


def tables() -> List[str]:
    return [text for name in ("tcp", "tcp6") for text in _read("/proc/net/{}".format(name))]


def own_addresses() -> List[str]:
    """The addresses at which a task is looked for, in this order."""
    return list(_REACHED)


def sockets_of(pids: Iterable[int]) -> Set[int]:
    """The numbers of all sockets that these processes have open. Those that we may not look at have none."""
    found: Set[int] = set()
    for pid in pids:
        folder = "/proc/{}/fd".format(pid)
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(os.path.join(folder, name))
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(int(target[len("socket:[") : -1]))
    return found


def _address(written: str) -> str:
    """The kernel writes addresses as words in the machine's own order of bytes."""
    words = [int(written[at : at + 8], 16) for at in range(0, len(written), 8)]
    data = struct.pack("={}I".format(len(words)), *words)
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, data)


def _read(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="ascii") as file:
            yield file.read()
    except OSError:
        return  # this machine does not speak that version of IP
