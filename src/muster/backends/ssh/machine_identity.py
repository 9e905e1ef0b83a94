"""Knows which machine each node is. Two nodes on one machine raise an alert, and its GPUs are allocated through the
node that connected first.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.agent.system.processes import boot_id
from muster.backends.agents.connection import AgentNode


@dataclass(frozen=True, slots=True)
class Machine:
    """One boot of one machine. Containers on one machine share the boot and have host names of their own."""

    boot_id: str
    hostname: str

    @classmethod
    def of_this_server(cls) -> "Machine":
        return cls(boot_id(), socket.gethostname())

    @classmethod
    def of(cls, hello: Mapping[str, Any]) -> "Machine":
        return cls(str(hello["boot_id"]), str(hello["hostname"]))


class MachineIdentities:
    """The machines of all SSH clusters of a server."""

    def __init__(self, own: Machine) -> None:
        self._own = own
        self._holders: dict[Machine, AgentNode] = {}

    def identify(self, agent: AgentNode) -> None:
        machine = Machine.of(agent.hello)
        if self._holders.get(machine) is not agent:
            self.release(agent)  # the node was another machine before
            self._holders.setdefault(machine, agent)

    def release(self, agent: AgentNode) -> None:
        """The node has left."""
        for machine in [machine for machine, holder in self._holders.items() if holder is agent]:
            del self._holders[machine]

    def alerts(self, agent: AgentNode) -> tuple[str, ...]:
        machine = Machine.of(agent.hello)
        if (holder := self._holders.get(machine, agent)) is not agent:
            return (f"it is the same machine as node {_name(holder)}: remove one of the two",)
        if machine == self._own:
            return ("it is the server's own machine, which is also a node of the cluster local: cordon one of the two",)
        return ()

    def gpus_elsewhere(self, agent: AgentNode) -> dict[int, str]:
        """Why GPUs are not allocated through this node, by index."""
        if (holder := self._holders.get(Machine.of(agent.hello), agent)) is agent:
            return {}
        theirs = {device.uuid for device in holder.node.capacity.devices if device.uuid}
        reason = f"it is allocated through node {_name(holder)}, which is the same machine"
        return {device.index: reason for device in agent.node.capacity.devices if device.uuid in theirs}


def _name(agent: AgentNode) -> str:
    return f"{agent.node.cluster}/{agent.node.name}"
