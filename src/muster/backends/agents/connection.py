"""The connection to one node through its agent. It is kept open, and what the agent reports about the node is kept.

The `Connector` decides how the connection is made: through a pipe on this machine, or an SSH channel to another.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import structlog

from muster.agent.system.frames import Message
from muster.backends.agents.agent_channel import AgentLink, ByteReader, ByteWriter
from muster.backends.agents.clock_offset import NodeClock
from muster.backends.agents.flow_control import Pace
from muster.backends.agents.gpu_health import known_devices
from muster.domain.errors import BackendError, MusterError, Rejected, Unreachable
from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device, ExtendedDevice
from muster.lib.backoff import exponential

Connector = Callable[[], AbstractAsyncContextManager[tuple[ByteReader, ByteWriter]]]

_log = structlog.get_logger("backends.agents")
USAGE_EVERY_S = 2.0
CONNECT_WITHIN_S = 30.0
_CLOSE_AGAIN_S = 1.0
_TRY_EVERY_S = 15.0
"""The longest pause between attempts to connect, so that a machine that is back is not idle for long."""
_TRY_HOPELESS_EVERY_S = 600.0
"""The pause after an error that a person has to fix, such as a wrong password, so that the account is not locked."""
_TICKS = 4
"""A missing heartbeat is counted in ticks, not in time, so that no node counts as silent when the server was frozen."""


def agent_arguments(epoch: int) -> list[str]:
    """The agent takes the node's root from the agent of an earlier term, and leaves it to one of a later term."""
    return ["--take-over", "--epoch", str(epoch)]


def _retry_pause_s(failures: int) -> float:
    return exponential(failures, first_s=0.2, limit_s=_TRY_EVERY_S)


class AgentNode:
    """`node` is what is known now. Other parts add what they find (folders, GPUs) by `note_labels`, `note_alerts`,
    `note_hold` and `note_devices`. Labels and alerts are kept by the name of their source."""

    def __init__(
        self,
        name: str,
        cluster: str,
        connector: Connector,
        *,
        address: str = "",
        unreachable_after_s: float = 10.0,
        connect_within_s: float = CONNECT_WITHIN_S,
        retry_pause_s: Callable[[int], float] = _retry_pause_s,
        on_push: Callable[["AgentNode", Message], None],
        on_change: Callable[["AgentNode"], None],
        on_ready: Callable[["AgentNode"], None],
    ) -> None:
        self.node = Node(name, cluster, address, Capacity(0, 0), since=time.time())
        self.address = address
        """The configured address. If it is empty, the agent reports one."""
        self.interface: str | None = None
        """The network interface whose address other nodes use, if no address is configured."""
        self.connected_state = NodeState.READY
        """The state of the node while it is connected. A node that is leaving is Draining."""
        self.hello: Message = {}
        """What the agent last reported about its machine."""
        self.clock = NodeClock()
        self.outward, self.inward = Pace(), Pace()
        """The pace of large transfers to the node, and from it."""
        self.unreachable_after_s = unreachable_after_s
        self._connect_within_s = connect_within_s
        self._retry_pause_s = retry_pause_s
        self._connector = connector
        self._on_push = on_push
        self._on_change = on_change
        self._on_ready = on_ready
        self._labels: dict[str, Mapping[str, str]] = {}
        self._alerts: dict[str, tuple[str, ...]] = {}
        self._link: AgentLink | None = None
        self._tried = asyncio.Event()
        self._ready = asyncio.Event()
        self._at_once = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._failures = 0
        self._missed_at = 0.0
        """When the connection was lost, or first attempted, by the loop's clock."""

    async def start(self) -> None:
        """Connect, and keep trying for as long as it takes. Returns after the first attempt."""
        self.begin()
        await self._tried.wait()

    def begin(self) -> None:
        """Connect, and keep trying for as long as it takes. Returns at once."""
        self._missed_at = asyncio.get_running_loop().time()
        self._loop = asyncio.create_task(self._stay_connected(), name=f"agent {self.node.name}")

    async def close(self) -> None:
        """Cancel the connection until it has ended. A library that is connecting may mistake a cancellation for a
        failure."""
        while self._loop is not None and not self._loop.done():
            self._loop.cancel()
            await asyncio.wait((self._loop,), timeout=_CLOSE_AGAIN_S)

    def reconnect(self) -> None:
        """Drop the connection, if there is one, and connect without waiting."""
        self._failures = 0
        self._at_once.set()
        if self._link is not None:
            self._link.drop()

    async def ask(self, op: str, **arguments: Any) -> Message:
        """Send a request. Waits for the next connection if there is none, and raises Unreachable if it does not come in
        time. A node that has been unreachable for longer is not waited for."""
        while self._link is None:
            try:
                async with asyncio.timeout_at(self._missed_at + self._connect_within_s):
                    await self._ready.wait()
            except TimeoutError:
                raise Unreachable(f"node {self.node.name} does not answer") from None
        return await self._link.ask(op, **arguments)

    # What other parts find

    def note_labels(self, source: str, labels: Mapping[str, str]) -> None:
        self._labels[source] = dict(labels)
        self._change(labels={label: value for found in self._labels.values() for label, value in found.items()})

    def note_alerts(self, source: str, alerts: Iterable[str]) -> None:
        self._alerts[source] = tuple(alerts)
        self._change(alerts=tuple(alert for found in self._alerts.values() for alert in found))

    def note_hold(self, reason: str) -> None:
        """Hold the node, so that it gets no new tasks, or let it go if there is no reason."""
        self._change(hold=reason)

    def note_devices(self, out_of_service: Mapping[int, str]) -> None:
        """Take devices out of service, with the reason by index. All others are in service."""
        capacity = self.node.capacity
        devices = tuple(
            replace(device, out_of_service=out_of_service.get(device.index, "")) for device in capacity.devices
        )
        self._change(capacity=replace(capacity, devices=devices))

    def note_extended(self, devices: tuple[ExtendedDevice, ...]) -> None:
        """The node has these devices other than GPUs."""
        self._change(capacity=replace(self.node.capacity, extended=devices))

    def note_time(self, theirs: float) -> None:
        """Take the node's time from one of its samples."""
        if self.clock.sampled(theirs, time.time()):
            self.note_alerts("clock", self.clock.alerts)

    def set_state(self, state: NodeState, note: str) -> None:
        since = self.node.since if state is self.node.state else time.time()
        self._change(state=state, note=note, since=since)

    def _change(self, **facts: Any) -> None:
        """Change the node. Listeners are called only if something differs from before."""
        changed = replace(self.node, **facts)
        if changed != self.node:
            self.node = changed
            self._on_change(self)

    # The connection

    async def _stay_connected(self) -> None:
        while True:
            is_hopeless = False
            try:
                await self._serve_once()
            except (MusterError, OSError, KeyError, ValueError) as error:
                is_hopeless = isinstance(error, Rejected)
                self._failed(str(error))
            except Exception as error:
                _log.exception("agent unreachable", node=self.node.name)
                self._failed(f"the connection failed with an unexpected error: {error!r}")
            self._tried.set()
            pause_s = self._retry_pause_s(self._failures)
            await self._pause(_TRY_HOPELESS_EVERY_S if is_hopeless else pause_s)

    def _failed(self, why: str) -> None:
        """Record a failed attempt. A machine that stays unreachable is logged once, not at every attempt."""
        self._failures += 1
        if (self.node.state, self.node.note) != (NodeState.UNREACHABLE, why):
            _log.warning("agent unreachable", node=self.node.name, error=why)
        self.set_state(NodeState.UNREACHABLE, why)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._at_once.wait()
        except TimeoutError:
            pass
        self._at_once.clear()

    async def _serve_once(self) -> None:
        async with self._connector() as (reader, writer):
            link = AgentLink(self.node.name, reader, writer, lambda message: self._on_push(self, message))
            reading = asyncio.create_task(self._read(link))
            watching = asyncio.create_task(self._watch_heartbeat(link))
            try:
                self.hello = await link.ask("hello", interface=self.interface)
                if self.clock.answered(float(self.hello["now"]), time.time()):
                    self.note_alerts("clock", self.clock.alerts)
                await link.ask("usage", every_s=USAGE_EVERY_S)
                self._link = link
                self._failures = 0
                self._ready.set()
                self._connected()
                self._tried.set()
                await reading
            finally:
                self._disconnected()
                reading.cancel()
                watching.cancel()
                await asyncio.gather(reading, watching, return_exceptions=True)
        raise BackendError(link.drop_reason or f"the agent on {self.node.name} closed the connection")

    async def _read(self, link: AgentLink) -> None:
        """Read until the connection breaks. The link is removed before its requests fail, so that a request which is
        repeated waits for the next connection."""
        try:
            await link.run()
        finally:
            self._disconnected()

    def _disconnected(self) -> None:
        if self._link is not None:
            self._missed_at = asyncio.get_running_loop().time()
        self._ready.clear()
        self._link = None

    def _connected(self) -> None:
        state = self.connected_state
        since = self.node.since if self.node.state is state else time.time()
        address = self.address or str(self.hello["address"])
        self.node = replace(_node(self.node, self.hello), address=address, state=state, since=since)
        self._on_change(self)
        self._on_ready(self)

    async def _watch_heartbeat(self, link: AgentLink) -> None:
        """Drop the connection if the agent is silent for too long. Its usage samples are the heartbeat, and an agent
        that sends none is asked for an answer."""
        silent_ticks, received = 0, link.received
        while True:
            await asyncio.sleep(self.unreachable_after_s / _TICKS)
            silent_ticks, received = (0, link.received) if link.received != received else (silent_ticks + 1, received)
            if silent_ticks >= _TICKS:
                link.drop(f"node {self.node.name} has been silent for {self.unreachable_after_s:g} s")
                return
            if silent_ticks:
                link.poke()


def _node(before: Node, hello: Message) -> Node:
    devices = tuple(
        Device(int(gpu["index"]), str(gpu["model"]), str(gpu.get("uuid") or ""), int(gpu.get("memory_bytes") or 0))
        for gpu in hello["gpus"]
    )
    known = known_devices(before.capacity.devices, devices)
    cpu_m, memory_bytes = int(hello["cpus"]) * 1000, int(hello["memory_bytes"])
    capacity = Capacity(cpu_m, memory_bytes, known, extended=before.capacity.extended)
    limits = hello["limits"]
    note = "" if limits["memory"] else f"memory limits are not enforced here: {limits['why']}"
    return replace(before, capacity=capacity, note=note)


async def quietly(asking: Awaitable[Message]) -> None:
    """Wait for a request whose failure does no harm."""
    try:
        await asking
    except BackendError as error:
        _log.debug("request failed", error=str(error))
