"""Which machine stands behind a node, and under which of its names its cards are given out."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.backends.agents.connection import AgentNode
from muster.backends.ssh.machine_identity import Machine, MachineIdentities
from muster.domain.errors import BackendError
from muster.domain.resources import Capacity, Device

pytestmark = pytest.mark.fast

OWN = Machine("boot-1", "server")


def _nobody() -> AbstractAsyncContextManager[tuple[ByteReader, ByteWriter]]:
    raise BackendError("nobody is there")


def an_agent(name: str, machine: Machine, *cards: str) -> AgentNode:
    def deaf(*_: object) -> None: ...

    agent = AgentNode(name, "lab", _nobody, on_push=deaf, on_change=deaf, on_ready=deaf)
    agent.hello = {"boot_id": machine.boot_id, "hostname": machine.hostname}
    devices = tuple(Device(index, "A100", uuid) for index, uuid in enumerate(cards))
    agent.node = replace(agent.node, capacity=Capacity(1000, 2**30, devices))
    return agent


def test_the_servers_own_machine_is_an_alert() -> None:
    machines, agent = MachineIdentities(OWN), an_agent("gpu1", OWN, "GPU-a")
    machines.identify(agent)
    assert "cordon one of the two" in machines.alerts(agent)[0]
    assert machines.gpus_elsewhere(agent) == {}


def test_containers_on_one_machine_are_machines_of_their_own() -> None:
    machines = MachineIdentities(OWN)
    for name in ("one", "two"):
        agent = an_agent(name, Machine("boot-2", name), "GPU-a")
        machines.identify(agent)
        assert machines.alerts(agent) == ()
        assert machines.gpus_elsewhere(agent) == {}


def test_cards_of_a_machine_with_two_names_are_given_out_under_the_first_until_it_leaves() -> None:
    machines, machine = MachineIdentities(OWN), Machine("boot-2", "gpu")
    first, second = an_agent("first", machine, "GPU-a", "GPU-b"), an_agent("second", machine, "GPU-b", "", "GPU-c")
    for agent in (first, second, first):
        machines.identify(agent)
    assert machines.alerts(first) == ()
    assert "the same machine as node lab/first" in machines.alerts(second)[0]
    assert machines.gpus_elsewhere(first) == {}
    assert machines.gpus_elsewhere(second) == {0: "it is allocated through node lab/first, which is the same machine"}
    machines.release(first)
    machines.identify(second)
    assert machines.alerts(second) == ()
    assert machines.gpus_elsewhere(second) == {}


def test_a_node_that_has_become_another_machine_lets_the_old_one_go() -> None:
    machines, machine = MachineIdentities(OWN), Machine("boot-2", "gpu")
    first, second = an_agent("first", machine, "GPU-a"), an_agent("second", machine, "GPU-a")
    machines.identify(first)
    first.hello = {"boot_id": "boot-3", "hostname": "gpu"}
    machines.identify(first)
    machines.identify(second)
    assert machines.alerts(second) == ()
