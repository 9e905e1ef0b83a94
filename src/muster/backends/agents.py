"""One node that is reached through its agent: keeps the line open, and knows what the agent found there.

How the line is made (a pipe here, an SSH channel elsewhere) is the `Connector`'s affair.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog

from muster.agent.frames import Message
from muster.backends.links import AgentLink, ByteReader, ByteWriter
from muster.domain.errors import BackendError, MusterError
from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device
from muster.lib.backoff import exponential
from muster.ports.backend import CONNECTION_LOST

Connector = Callable[[], AbstractAsyncContextManager[tuple[ByteReader, ByteWriter]]]

_log = structlog.get_logger("backends.agents")
USAGE_EVERY_S = 5.0
CONNECT_WITHIN_S = 30.0


class AgentNode:
    def __init__(
        self,
        name: str,
        cluster: str,
        connector: Connector,
        *,
        address: str = "",
        on_push: Callable[["AgentNode", Message], None],
        on_change: Callable[["AgentNode"], None],
    ) -> None:
        self.node = Node(name, cluster, address, Capacity(0, 0))
        self._connector = connector
        self._on_push = on_push
        self._on_change = on_change
        self._link: AgentLink | None = None
        self._tried = asyncio.Event()
        self._ready = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._failures = 0

    async def start(self) -> None:
        """Returns after the first try to connect; goes on trying for as long as it takes."""
        self._loop = asyncio.create_task(self._stay_connected(), name=f"agent {self.node.name}")
        await self._tried.wait()

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)

    async def ask(self, op: str, **arguments: Any) -> Message:
        """Waits for the line if it is being made anew; CONNECTION_LOST when there is none in time."""
        if self._link is None:
            try:
                async with asyncio.timeout(CONNECT_WITHIN_S):
                    await self._ready.wait()
            except TimeoutError:
                raise BackendError(f"node {self.node.name} does not answer", reason=CONNECTION_LOST) from None
        assert self._link is not None
        return await self._link.ask(op, **arguments)

    async def _stay_connected(self) -> None:
        while True:
            try:
                await self._serve_once()
            except (MusterError, OSError, KeyError, ValueError) as error:
                self._failures += 1
                _log.warning("agent unreachable", node=self.node.name, error=str(error))
                self._set(NodeState.UNREACHABLE, str(error))
            self._tried.set()
            await asyncio.sleep(exponential(self._failures, first_s=0.2, limit_s=30.0))

    async def _serve_once(self) -> None:
        async with self._connector() as (reader, writer):
            link = AgentLink(self.node.name, reader, writer, lambda message: self._on_push(self, message))
            reading = asyncio.create_task(link.run())
            try:
                self.node = _node(self.node, await link.ask("hello"))
                await link.ask("usage", every_s=USAGE_EVERY_S)
                self._link = link
                self._failures = 0
                self._ready.set()
                self._on_change(self)
                self._tried.set()
                await reading
            finally:
                self._ready.clear()
                self._link = None
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
        raise BackendError(f"the agent on {self.node.name} has gone")

    def _set(self, state: NodeState, note: str) -> None:
        self.node = Node(self.node.name, self.node.cluster, self.node.address, self.node.capacity, state, note)
        self._on_change(self)


def _node(before: Node, hello: Message) -> Node:
    devices = tuple(
        Device(int(gpu["index"]), str(gpu["model"]), str(gpu.get("uuid") or ""), int(gpu.get("memory_bytes") or 0))
        for gpu in hello["gpus"]
    )
    capacity = Capacity(int(hello["cpus"]) * 1000, int(hello["memory_bytes"]), devices)
    limits = hello["limits"]
    note = "" if limits["memory"] else f"memory limits are not enforced here: {limits['why']}"
    return Node(before.name, before.cluster, before.address or str(hello["address"]), capacity, NodeState.READY, note)
