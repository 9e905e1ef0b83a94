"""The ssh backend: the nodes of one cluster file, each with a connection that is kept open and shared by everything."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import structlog

from muster.agent.gpus.models import model_name
from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.backends.agents.connection import CONNECT_WITHIN_S, AgentNode, agent_arguments
from muster.backends.agents.pool import AgentPool
from muster.backends.logins.agent_install import AgentArchive, running_agent
from muster.backends.logins.host_keys import HostKeyStore
from muster.backends.logins.login import logged_in
from muster.backends.logins.login_limit import LoginLimit
from muster.backends.ssh.machine_identity import MachineIdentities
from muster.backends.ssh.options import SshNode, ssh_nodes, ssh_options
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError
from muster.domain.nodes import Node, NodeState
from muster.domain.resources import DeviceFiles
from muster.ports.archives import Archives
from muster.ports.backend import BackendListener
from muster.ports.user_ids import UserIds, no_user_ids

_log = structlog.get_logger("backends.ssh")
_CHECK_EVERY_S = 5.0


class SshBackend(AgentPool):
    ships = True

    def __init__(
        self,
        settings: PhysicalCluster,
        archives: Archives,
        *,
        identity: str,
        epoch: int = 0,
        host_keys: Path,
        machines: MachineIdentities,
        connect_within_s: float = CONNECT_WITHIN_S,
        own_user: str = "",
        log_bytes: int | None = None,
        user_ids: UserIds = no_user_ids,
    ) -> None:
        """`identity` distinguishes this server from others that use the same machines. `connect_within_s` is how long a
        request waits for a connection that is being made."""
        super().__init__(
            settings, archives, own_user=own_user, identity=identity, log_bytes=log_bytes, user_ids=user_ids
        )
        self._machines = machines
        self._identity = identity
        self._epoch = epoch
        self._connect_within_s = connect_within_s
        self._keys = HostKeyStore(host_keys)
        self._archive = AgentArchive.build()
        self._login_limit = LoginLimit()
        self._members = {member.name: member for member in ssh_nodes(settings)}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._starting: list[asyncio.Task[None]] = []
        for member in self._members.values():
            self.add(self._agent_of(member))

    async def start(self, listener: BackendListener) -> None:
        """This waits for no node: they join as they answer, and a host that is off must not hold up the others."""
        self._listener = listener
        self._is_started = True
        self._starting = [asyncio.create_task(agent.start()) for agent in self._nodes.values()]

    async def close(self) -> None:
        """What has not begun to connect yet is cancelled first: it would connect after everything else was closed."""
        unfinished = [*self._starting, *self._leaving.values()]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        await super().close()
        for agent in self._nodes.values():
            self._machines.release(agent)

    async def configure(self, settings: PhysicalCluster) -> None:
        await super().configure(settings)
        members = ssh_nodes(settings)
        for member in members:
            self._take(member)
        staying = {member.name for member in members}
        for name in self._members.keys() - staying - self._leaving.keys():
            _log.info("node leaves", cluster=self.cluster, node=name)
            self._leaving[name] = asyncio.create_task(self._drain(self._nodes[name]), name=f"leaving {name}")

    def forget_host_key(self, node: str) -> None:
        self._keys.forget(self._member(node).login)

    def ready(self, agent: AgentNode) -> None:
        member = self._members.get(agent.node.name)
        if member is not None:
            agent.note_alerts("claims", differences(member, agent.node))
        known = {gpu.index: gpu.out_of_service for gpu in agent.node.capacity.devices if gpu.out_of_service}
        self.usage_received(agent)
        agent.note_devices({**self.withheld(agent), **known})
        super().ready(agent)

    def usage_received(self, agent: AgentNode) -> None:
        self._machines.identify(agent)
        agent.note_alerts("machine", self._machines.alerts(agent))

    def device_files(self, node: str) -> DeviceFiles:
        member = self._members.get(node)
        return self.settings.devices if member is None or member.devices is None else member.devices

    def withheld(self, agent: AgentNode) -> Mapping[int, str]:
        return self._machines.gpus_elsewhere(agent)

    def _take(self, member: SshNode) -> None:
        before = self._members.get(member.name)
        self._members[member.name] = member
        if before is None:
            agent = self._agent_of(member)
            self.add(agent)
            self._starting.append(asyncio.create_task(agent.start()))
            self.changed(agent)
            return
        agent = self._nodes[member.name]
        agent.unreachable_after_s = ssh_options(self.settings).unreachable_after_s
        leaving = self._leaving.pop(member.name, None)
        if leaving is not None:
            leaving.cancel()
            agent.connected_state = NodeState.READY
        if leaving is not None or member != before:
            _log.info("node is reconnected", cluster=self.cluster, node=member.name)
            _describe(agent, member)
            agent.reconnect()

    async def _drain(self, agent: AgentNode) -> None:
        """A node that is no longer in its file gets no new task. It is dropped when its tasks have ended and their logs
        are collected, or when it has been unreachable for too long."""
        agent.connected_state = NodeState.DRAINING
        if agent.node.is_reachable:
            agent.set_state(NodeState.DRAINING, "it is no longer in the cluster's file")
        while await self._has_tasks(agent):  # noqa: ASYNC110 - the node is asked
            await asyncio.sleep(_CHECK_EVERY_S)
        name = agent.node.name
        await agent.close()
        self._machines.release(agent)
        self._members.pop(name, None)
        self._leaving.pop(name, None)
        self.drop(name)

    async def _has_tasks(self, agent: AgentNode) -> bool:
        if not agent.node.is_reachable:
            silent_s = time.time() - (agent.node.since or 0.0)
            return bool(agent.hello) and silent_s < self.settings.lost_after_s
        try:
            return bool((await agent.ask("list"))["tasks"])
        except BackendError:
            return True

    def _agent_of(self, member: SshNode) -> AgentNode:
        agent = AgentNode(
            member.name,
            self.cluster,
            lambda: self._connected(member.name),
            unreachable_after_s=ssh_options(self.settings).unreachable_after_s,
            connect_within_s=self._connect_within_s,
            on_push=self.pushed,
            on_change=self.changed,
            on_ready=self.ready,
        )
        _describe(agent, member)
        return agent

    @asynccontextmanager
    async def _connected(self, name: str) -> AsyncIterator[tuple[ByteReader, ByteWriter]]:
        member = self._member(name)
        async with AsyncExitStack() as stack:
            async with self._login_limit.slot():
                connection = await stack.enter_async_context(logged_in(member.login, self._keys))
                agent = running_agent(
                    connection,
                    self._archive,
                    python=member.python,
                    root=member.root,
                    name=f"{self._identity}-{self.cluster}-{name}",
                    arguments=agent_arguments(self._epoch),
                    is_shared=False,
                )
                streams = await stack.enter_async_context(agent)
            yield streams

    def _member(self, name: str) -> SshNode:
        member = self._members.get(name)
        if member is None:
            raise BackendError(f"node {name} has left the cluster {self.cluster}")
        return member


def _describe(agent: AgentNode, member: SshNode) -> None:
    agent.address = member.address or ""
    agent.interface = member.interface
    agent.note_labels("file", member.labels)


def differences(member: SshNode, node: Node) -> Iterable[str]:
    """How the node differs from what its file says."""
    claims, devices = member.claims, node.capacity.devices
    where = f"{member.file} says" if member.file else "its file says"
    if claims.gpus is not None and claims.gpus != len(devices):
        yield f"{where} {claims.gpus} GPUs, there are {len(devices)}"
    elif claims.gpu_models:
        claimed, found = sorted(map(_plain, claims.gpu_models)), sorted(_plain(device.model) for device in devices)
        if claimed != found:
            models = ", ".join(device.model for device in devices) or "none"
            yield f"{where} {', '.join(claims.gpu_models)}, there are {models}"


def _plain(model: str) -> str:
    """`RTX 3090`, `rtx3090` and `GeForce RTX 3090` are the same model."""
    return model_name(model).replace(" ", "").replace("-", "").lower()
