"""Probes every node for devices, folders, conda and container engines: when it connects, when the cluster's file
changes, and from time to time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import structlog

from muster.backends.agents.connection import AgentNode
from muster.backends.agents.containers import Engines
from muster.backends.agents.device_files import DeviceWatch
from muster.backends.agents.shared_folders import FolderWatch
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError
from muster.domain.resources import DeviceFiles
from muster.launch.containers import Engine

_log = structlog.get_logger("backends.node_probes")
EVERY_S = 60.0
_ENGINES_EVERY = 10
"""Container engines are probed in every tenth round only, as they change less often than file servers."""


class NodeProbes:
    def __init__(
        self,
        settings: Callable[[], PhysicalCluster],
        agents: Callable[[], Iterable[AgentNode]],
        engine_found: Callable[[AgentNode, Engine | None], None],
        device_files: Callable[[str], DeviceFiles],
    ) -> None:
        self.engines = Engines()
        self.folders = FolderWatch(settings, agents)
        self._devices = DeviceWatch(device_files)
        self._agents = agents
        self._engine_found = engine_found
        self._probing: set[asyncio.Task[None]] = set()
        self._rounds: asyncio.Task[None] | None = None

    def ready(self, agent: AgentNode) -> None:
        """The node is connected, for the first time or again."""
        self._devices.declare(agent)
        self._spawn(self._probe_and_label(agent, with_engine=True))
        if self._rounds is None:
            self._rounds = asyncio.create_task(self._probe_periodically(), name="node probes")

    def settings_changed(self) -> None:
        self.folders.label_nodes()
        for agent in self._agents():
            self._devices.declare(agent)
            if agent.node.is_reachable:
                self._spawn(self._probe_and_label(agent, with_engine=False))

    def forget(self, node: str) -> None:
        self.engines.forget(node)
        self.folders.forget(node)

    async def close(self) -> None:
        tasks = [*self._probing, *([self._rounds] if self._rounds is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe_periodically(self) -> None:
        count = 0
        while True:
            await asyncio.sleep(EVERY_S)
            count += 1
            reachable = [agent for agent in self._agents() if agent.node.is_reachable]
            with_engine = count % _ENGINES_EVERY == 0
            await asyncio.gather(*(self._probe(agent, with_engine=with_engine) for agent in reachable))
            self.folders.label_nodes()

    async def _probe_and_label(self, agent: AgentNode, *, with_engine: bool) -> None:
        await self._probe(agent, with_engine=with_engine)
        self.folders.label_nodes()

    async def _probe(self, agent: AgentNode, *, with_engine: bool) -> None:
        try:
            await self._devices.probe(agent)
            await self.folders.probe(agent)
            if with_engine:
                self._engine_found(agent, await self.engines.probe(agent))
        except (BackendError, KeyError, TypeError, ValueError) as error:
            _log.warning("node not probed", node=agent.node.name, error=str(error))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._probing.add(task)
        task.add_done_callback(self._probing.discard)
