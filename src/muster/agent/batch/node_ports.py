"""Ports on a node that several jobs share. A port is claimed by a name that only one process of the node can have.

The name is an abstract socket: it belongs to the same network namespace as the port, works across accounts, needs no
file, and is free again as soon as its process is gone, however that ended.
"""

from __future__ import annotations

import os
import socket
from typing import List, Optional, Sequence

from muster.agent.errors import NO_PORTS, AgentError
from muster.agent.tasks.port_ranges import DEFAULT_RANGE, candidates, ephemeral_range


class ClaimedPorts:
    """Hold the object for as long as the task uses its ports."""

    def __init__(self) -> None:
        self._claims: List[socket.socket] = []
        self.ports: List[int] = []

    def claim(self, count: int, among: Optional[Sequence[int]] = None) -> List[int]:
        """So many free ports, beginning anywhere so that jobs that start at the same time seldom meet."""
        known = list(candidates(DEFAULT_RANGE, ephemeral_range()) if among is None else among)
        first = int.from_bytes(os.urandom(4), "big") % len(known) if known else 0
        for port in known[first:] + known[:first]:
            if len(self.ports) == count:
                break
            self._try(port)
        if len(self.ports) < count:
            self.close()
            raise AgentError(NO_PORTS, "only {} of {} ports are free on this node".format(len(self.ports), count))
        return list(self.ports)

    def close(self) -> None:
        for claim in self._claims:
            claim.close()

    def _try(self, port: int) -> None:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind("\0muster-port-{}".format(port))
        except OSError:
            claim.close()
            return
        if not _is_free(port):
            claim.close()
            return
        self._claims.append(claim)
        self.ports.append(port)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
