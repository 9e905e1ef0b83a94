"""Symbols for addresses that are known only inside the allocation of an engine, and their replacement there.

A gang is composed before its engine has chosen nodes. Until then its hosts and ports are symbols, which a script in the
allocation replaces once the nodes are known. Symbols are plain text, so that a script in any language can replace them
by the same two rules.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from muster.domain.gangs import Gang
from muster.domain.launch_requests import LaunchRequest
from muster.domain.tasks import Task

_FIRST_PORT = 4_200_000_000
"""A symbol consists of 42, five digits for the rank and three for the position. No port number is that high."""
_HOST = re.compile(r"muster-host-(\d+)\.symbol")
_PORT = re.compile(r"(?<!\d)42(\d{5})(\d{3})(?!\d)")
_UNIQUE = ("MUSTER_NODES",)
"""Lists that contain every host only once. Two tasks that share a node have two symbols, but one host."""
_HOSTFILE = "hostfile"
"""Has one line for each host, with a slot for each task on it: mpirun refuses a host that is named twice with slots."""
_SLOTS = re.compile(r"(\S+) slots=(\d+)")


def host_symbol(rank: int) -> str:
    return f"muster-host-{rank}.symbol"


def port_symbol(rank: int, position: int) -> int:
    return _FIRST_PORT + rank * 1000 + position


def assign_symbols(gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
    """The tasks of the gang, with a symbol for each host and port."""
    return tuple(
        replace(
            task,
            placement=replace(
                task.placement,
                address=host_symbol(task.rank),
                ports=tuple(port_symbol(task.rank, position) for position in range(ports.get(task.id, 0))),
            ),
        )
        for task in gang.tasks
    )


def resolve(text: str, hosts: Mapping[int, str], ports: Mapping[int, Sequence[int]]) -> str:
    """Replaces the symbols in the text by the hosts and ports of these ranks. Other numbers are not changed."""

    def host(match: re.Match[str]) -> str:
        return hosts.get(int(match[1]), match[0])

    def port(match: re.Match[str]) -> str:
        found, position = ports.get(int(match[1]), ()), int(match[2])
        return str(found[position]) if position < len(found) else match[0]

    return _PORT.sub(port, _HOST.sub(host, text))


def resolve_request(
    request: LaunchRequest,
    hosts: Mapping[int, str],
    ports: Mapping[int, Sequence[int]],
    *,
    literal: Collection[str] = (),
) -> LaunchRequest:
    """The request with all symbols replaced. Variables in `literal` were set by the user and are not changed."""
    env = {
        name: value if name in literal else _unique(name, resolve(value, hosts, ports))
        for name, value in request.env.items()
    }
    return replace(
        request,
        env=env,
        files={name: _joined(name, resolve(content, hosts, ports)) for name, content in request.files.items()},
        ports=tuple(int(resolve(str(port), hosts, ports)) for port in request.ports),
    )


def _unique(name: str, value: str) -> str:
    return ",".join(dict.fromkeys(value.split(","))) if name in _UNIQUE else value


def _joined(name: str, content: str) -> str:
    found = [_SLOTS.fullmatch(line) for line in content.splitlines()] if name == _HOSTFILE else [None]
    lines = [line for line in found if line is not None]
    if len(lines) < len(found):
        return content  # it is none of ours
    slots: dict[str, int] = {}
    for line in lines:
        slots[line[1]] = slots.get(line[1], 0) + int(line[2])
    return "".join(f"{host} slots={count}\n" for host, count in slots.items())
