"""Which machine stands behind a node, as the server's own machine is seen."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from muster.agent.frames import Message
from muster.backends.agents import AgentNode
from muster.backends.links import AgentLink, ByteReader, ByteWriter
from muster.backends.ssh.machines import Machine, Machines
from muster.domain.errors import BackendError

pytestmark = pytest.mark.fast

OWN = Machine("boot-1", "server")


def _nobody() -> AbstractAsyncContextManager[tuple[ByteReader, ByteWriter]]:
    raise BackendError("nobody is there")


class _Line(AgentLink):
    """One over which an agent says what its tasks are."""

    def __init__(self, *phases: str) -> None:
        self.phases = phases

    async def ask(self, op: str, **arguments: Any) -> Message:
        assert op == "list"
        return {"tasks": [{"phase": phase} for phase in self.phases]}


def an_agent(name: str, machine: Machine) -> AgentNode:
    def deaf(*_: object) -> None: ...

    agent = AgentNode(name, "lab", _nobody, on_push=deaf, on_change=deaf, on_ready=deaf)
    agent.hello = {"boot_id": machine.boot_id, "hostname": machine.hostname}
    return agent


def test_the_servers_own_machine_is_let_in_with_an_alert() -> None:
    machines, agent = Machines(OWN), an_agent("gpu1", OWN)
    asyncio.run(machines.admit(agent, agent.hello, _Line()))
    assert "cordon one of the two" in machines.alerts(agent)[0]


def test_containers_on_one_machine_are_machines_of_their_own() -> None:
    machines = Machines(OWN)
    for name in ("one", "two"):
        agent = an_agent(name, Machine("boot-2", name))
        asyncio.run(machines.admit(agent, agent.hello, _Line()))
        assert machines.alerts(agent) == ()


def test_a_second_name_is_refused_unless_tasks_run_under_it() -> None:
    machines, machine = Machines(OWN), Machine("boot-2", "gpu")
    first, second = an_agent("first", machine), an_agent("second", machine)
    asyncio.run(machines.admit(first, first.hello, _Line()))
    with pytest.raises(BackendError, match="the machine of node lab/first"):
        asyncio.run(machines.admit(second, second.hello, _Line("ended")))
    asyncio.run(machines.admit(second, second.hello, _Line("running")))
    assert "lab/first" in machines.alerts(second)[0]
    machines.release(first)
    asyncio.run(machines.admit(second, second.hello, _Line()))
    assert machines.alerts(second) == ()
