"""Replaces the symbols of hosts and ports by what the allocation has, by the rules of `muster.launch.symbols`."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Match, Sequence

_HOST = re.compile(r"muster-host-(\d+)\.symbol")
_PORT = re.compile(r"(?<!\d)42(\d{5})(\d{3})(?!\d)")
_UNIQUE = ("MUSTER_NODES",)
_HOSTFILE = "hostfile"
_SLOTS = re.compile(r"(\S+) slots=(\d+)")

Hosts = Mapping[int, str]
Ports = Mapping[int, Sequence[int]]


def resolve(text: str, hosts: Hosts, ports: Ports) -> str:
    def host(match: Match[str]) -> str:
        return hosts.get(int(match.group(1)), match.group(0))

    def port(match: Match[str]) -> str:
        found, position = ports.get(int(match.group(1)), ()), int(match.group(2))
        return str(found[position]) if position < len(found) else match.group(0)

    return _PORT.sub(port, _HOST.sub(host, text))


def resolve_task(task: Mapping[str, Any], hosts: Hosts, ports: Ports) -> Dict[str, Any]:
    """The order of a task with all symbols replaced. Variables in `literal` are the user's own."""
    literal = set(task["literal"])
    env = {
        name: value if name in literal else _unique(name, resolve(value, hosts, ports))
        for name, value in task["env"].items()
    }
    files = {name: _joined(name, resolve(content, hosts, ports)) for name, content in task["files"].items()}
    return {**task, "env": env, "files": files}


def _unique(name: str, value: str) -> str:
    return ",".join(dict.fromkeys(value.split(","))) if name in _UNIQUE else value


def _joined(name: str, content: str) -> str:
    found = [_SLOTS.fullmatch(line) for line in content.splitlines()] if name == _HOSTFILE else [None]
    lines = [line for line in found if line is not None]
    if len(lines) < len(found):
        return content  # it is none of ours
    slots: Dict[str, int] = {}
    for line in lines:
        slots[line.group(1)] = slots.get(line.group(1), 0) + int(line.group(2))
    return "".join("{} slots={}\n".format(host, count) for host, count in slots.items())
