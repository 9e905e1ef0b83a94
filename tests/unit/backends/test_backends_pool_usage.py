"""What a pool makes of the samples of its nodes: a ring, and cards that come and go."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.pool import AgentPool
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError
from muster.domain.nodes import NodeState
from muster.engine.data.archives import SignedArchives
from muster.ports.backend import Observation
from tests.parts.building import a_node

pytestmark = pytest.mark.fast


@dataclass
class Listener:
    changes: int = 0

    def task_observed(self, cluster: str, observation: Observation) -> None:
        raise AssertionError(observation)

    def nodes_changed(self, cluster: str) -> None:
        self.changes += 1

    def reconnected(self, cluster: str, node: str | None) -> None:
        raise AssertionError(cluster)


def _nobody() -> AbstractAsyncContextManager[tuple[ByteReader, ByteWriter]]:
    raise BackendError("nobody is there")


def with_pool(act: Callable[[AgentPool, AgentNode, Listener], None]) -> None:
    """A pool of one node with two cards, of which the samples come from the test."""

    async def scenario() -> None:
        pool, listener = AgentPool(PhysicalCluster("lab", "ssh"), SignedArchives(Path("/nowhere"), "", b"")), Listener()
        agent = AgentNode("n1", "lab", _nobody, on_push=pool.pushed, on_change=pool.changed, on_ready=pool.ready)
        pool.add(agent)
        await pool.start(listener)
        agent.node = replace(agent.node, capacity=a_node("n1", 8, 1 << 30, "A100", "A100").capacity)
        agent.set_state(NodeState.READY, "")
        listener.changes = 0
        act(pool, agent, listener)
        await pool.close()

    asyncio.run(scenario())


def a_sample(at: float | None = None, **second: Any) -> dict[str, Any]:
    """Of now, by a clock that is right, if no time is given."""
    cards = [{"index": 0, "ecc_errors": 0}, {"index": 1, "ecc_errors": 0, **second}]
    at = time.time() if at is None else at
    return {"event": "usage", "at": at, "node": {"cpu_percent": 1.0, "gpus": cards}, "tasks": {}}


def test_a_card_goes_and_comes_and_the_scheduler_is_told_only_then() -> None:
    def act(pool: AgentPool, agent: AgentNode, listener: Listener) -> None:
        pool.pushed(agent, a_sample())
        assert listener.changes == 0
        pool.pushed(agent, a_sample(ecc_errors=2))
        told = listener.changes
        assert told > 0
        assert [bool(device.out_of_service) for device in pool.nodes()[0].capacity.devices] == [False, True]
        assert [device.index for device in pool.nodes()[0].in_service().capacity.devices] == [0]
        (alert,) = pool.nodes()[0].alerts
        assert alert.startswith("GPU 1 is out of service: 2 memory errors")
        pool.pushed(agent, a_sample(ecc_errors=2))
        assert listener.changes == told
        pool.pushed(agent, a_sample())
        assert listener.changes > told
        assert pool.nodes()[0].alerts == ()
        assert not any(device.out_of_service for device in pool.nodes()[0].capacity.devices)

    with_pool(act)


def test_alerts_of_others_stay() -> None:
    def act(pool: AgentPool, agent: AgentNode, listener: Listener) -> None:
        agent.note_alerts("folders", ["data is not mounted"])
        pool.pushed(agent, a_sample(missing=True))
        assert len(pool.nodes()[0].alerts) == 2
        pool.pushed(agent, a_sample())
        assert pool.nodes()[0].alerts == ("data is not mounted",)

    with_pool(act)


def test_a_node_that_left_leaves_nothing_behind() -> None:
    def act(pool: AgentPool, agent: AgentNode, listener: Listener) -> None:
        for at in (1.0, 2.0):
            pool.pushed(agent, a_sample(at))
        assert [usage.at for usage in pool._usage.history("n1")] == [1.0, 2.0]
        assert pool._usage.latest()["n1"].at == 2.0
        pool.drop("n1")
        pool.pushed(agent, a_sample(3.0))  # its last word
        assert pool._usage.latest() == {}
        assert pool._usage.history("n1") == ()

    with_pool(act)
