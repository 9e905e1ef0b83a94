"""Which machine stands behind each node. Two names for one machine would have its cards given out twice, so the second
one is not let in. One on which tasks run is let in all the same: they must not be taken for lost while they run.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.agent.processes import boot_id
from muster.backends.agents import AgentNode
from muster.backends.links import AgentLink
from muster.domain.errors import BackendError
from muster.ports.backend import Phase

_AT_WORK = (Phase.PREPARING, Phase.RUNNING)


@dataclass(frozen=True, slots=True)
class Machine:
    """One boot of one machine. Containers on one machine share the boot and have names of their own."""

    boot_id: str
    hostname: str

    @classmethod
    def of_this_server(cls) -> "Machine":
        return cls(boot_id(), socket.gethostname())

    @classmethod
    def of(cls, hello: Mapping[str, Any]) -> "Machine":
        return cls(str(hello["boot_id"]), str(hello["hostname"]))


class Machines:
    """Of all SSH clusters of a server."""

    def __init__(self, own: Machine) -> None:
        self._own = own
        self._holders: dict[Machine, AgentNode] = {}

    async def admit(self, agent: AgentNode, hello: Mapping[str, Any], link: AgentLink) -> None:
        """Raises BackendError for a machine that another node has already."""
        machine = Machine.of(hello)
        other = self._holders.get(machine)
        if other is None or other is agent:
            self._hold(machine, agent)
            return
        if not _at_work(await link.ask("list")):
            raise BackendError(_twice(other))
        if other.node.is_reachable and not _at_work(await other.ask("list")):
            self._hold(machine, agent)
            other.reconnect()  # it is refused when it comes again

    def release(self, agent: AgentNode) -> None:
        """It has left."""
        for machine in [machine for machine, holder in self._holders.items() if holder is agent]:
            del self._holders[machine]

    def alerts(self, agent: AgentNode) -> tuple[str, ...]:
        """Of one that was let in."""
        machine = Machine.of(agent.hello)
        holder = self._holders.get(machine, agent)
        if holder is not agent:
            return (_twice(holder),)
        if machine == self._own:
            return ("it is the server's own machine, which is a node of the cluster local too: cordon one of the two",)
        return ()

    def _hold(self, machine: Machine, agent: AgentNode) -> None:
        self.release(agent)
        self._holders[machine] = agent


def _at_work(listed: Mapping[str, Any]) -> bool:
    return any(Phase(task["phase"]) in _AT_WORK for task in listed["tasks"])


def _twice(other: AgentNode) -> str:
    name = f"{other.node.cluster}/{other.node.name}"
    return f"it is the machine of node {name} under another name, whose cards would be given out twice: remove one"
