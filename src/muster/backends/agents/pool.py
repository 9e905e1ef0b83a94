"""A Backend over nodes with agents: Muster places every task itself, and the agents run them."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import structlog

from muster.agent.system.frames import Message
from muster.backends.agents.addresses import Addresses
from muster.backends.agents.archive_transfer import ArchiveTransfer
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.environments import AgentEnvironments
from muster.backends.agents.gpu_health import gpu_alerts, out_of_service
from muster.backends.agents.health_checks import HealthChecks
from muster.backends.agents.isolation import PoolIsolation
from muster.backends.agents.logs import AgentLogs
from muster.backends.agents.node_exec import NodeExec
from muster.backends.agents.node_probes import NodeProbes
from muster.backends.agents.node_usage import PoolUsage
from muster.backends.agents.observations import observation
from muster.backends.agents.output_collection import OutputCollection
from muster.backends.agents.preparation import Preparation
from muster.backends.agents.remote_files import AgentFiles
from muster.backends.agents.spec_support import cannot_honour
from muster.backends.agents.task_commands import AgentCommands
from muster.backends.agents.task_connections import AgentConnections
from muster.backends.agents.task_data import PoolCleanup, PoolLogs, PoolMetrics, PoolOutputs
from muster.backends.agents.task_launch import TaskLauncher
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, NotFound, Problem, Unreachable
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.nodes import Node
from muster.domain.resources import DeviceFiles
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task
from muster.ports.archives import Archives
from muster.ports.backend import (
    BackendListener,
    ContainerCommand,
    Launched,
    Observation,
    Observed,
    Phase,
    Rendered,
    Scope,
)
from muster.ports.capabilities import Capabilities, CommandEnd, CommandOutput, TaskRef, TaskSecrets
from muster.ports.user_ids import UserIds, no_user_ids

_log = structlog.get_logger("backends.pool")


class AgentPool:
    """Implements `ports.backend.Backend`. A subclass makes the nodes, and says how their agents are reached."""

    ships = False
    """Whether the nodes have disks of their own: what tasks need is then sent to them."""

    def __init__(
        self,
        settings: PhysicalCluster,
        archives: Archives,
        *,
        own_user: str = "",
        identity: str = "",
        log_bytes: int | None = None,
        user_ids: UserIds = no_user_ids,
    ) -> None:
        self.cluster = settings.name
        self.settings = settings
        self._nodes: dict[str, AgentNode] = {}
        self._listener: BackendListener | None = None
        self._is_started = False
        self._usage = PoolUsage()
        self._logs = AgentLogs(log_bytes)
        self._exec = NodeExec()
        self._task_commands = AgentCommands(lambda task: self._agent(task.node))
        self._task_connections = AgentConnections(lambda task: self._agent(task.node))
        self._cleanup = PoolCleanup(self._agent)
        self._addresses = Addresses(self._agent)
        self._shipping = ArchiveTransfer(self._ask_node, lambda node: self._agent(node).outward)
        self._isolation = isolation = PoolIsolation(
            lambda: self.settings, self._nodes.values, own_user, identity, user_ids
        )
        self._probes = NodeProbes(
            lambda: self.settings, lambda: list(self._nodes.values()), isolation.engine_found, self.device_files
        )
        self._health = HealthChecks(lambda: self.settings, self._nodes.values)
        engines = self._probes.engines
        self._launcher = TaskLauncher(
            self._agent,
            engines,
            isolation,
            archives,
            self._shipping,
            ships=self.ships,
            max_tasks=lambda: self.settings.tasks_per_node,
            log_bytes=log_bytes,
            scripts=lambda: self.settings.scripts,
            setup_cache=lambda: self.settings.setup_cache,
        )
        logs = self._task_logs()
        self.capabilities = Capabilities(
            ports=self._addresses,
            shipping=Preparation(self._shipping, archives) if self.ships else None,
            logs=logs,
            log_times=logs,
            metrics=PoolMetrics(lambda task: self._agent(task.node)),
            outputs=PoolOutputs(OutputCollection(self._ask_node, lambda node: self._agent(node).inward)),
            cleanup=self._cleanup,
            task_commands=self._task_commands,
            task_connections=self._task_connections,
            task_attachments=self._task_commands,
            usage=self._usage,
            node_administration=self,
            files=AgentFiles(self._agent, isolation.account_order),
            environments=AgentEnvironments(lambda: self.settings, self._agent, engines, isolation),
            isolation=isolation,
            secrets=TaskSecrets(),
        )

    def _task_logs(self) -> PoolLogs:
        return PoolLogs(lambda task: self._agent(task.node), self._logs)

    def add(self, node: AgentNode) -> None:
        self._nodes[node.node.name] = node

    def drop(self, name: str) -> None:
        """The node is no longer part of this cluster."""
        self._nodes.pop(name, None)
        self._usage.forget(name)
        self._shipping.forget(name)
        self._probes.forget(name)
        self._health.forget(name)
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        await asyncio.gather(*(node.start() for node in self._nodes.values()))
        self._is_started = True

    async def close(self) -> None:
        self._cleanup.close()
        await self._exec.close()
        await self._task_commands.close()
        await self._task_connections.close()
        await self._logs.close()
        await self._probes.close()
        await self._health.close()
        await self._shipping.close()
        await asyncio.gather(*(node.close() for node in self._nodes.values()))

    async def configure(self, settings: PhysicalCluster) -> None:
        had_checks, self.settings = self.settings.scripts.health_checks, settings
        self._probes.settings_changed()
        if settings.scripts.health_checks != had_checks:
            self._health.settings_changed()

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return list(cannot_honour(spec, self.settings, list(self._nodes), self._probes.engines))

    def nodes(self) -> list[Node]:
        return [agent.node for agent in self._nodes.values()]

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        return await self._addresses.assign(gang, ports)

    def render(self, launch: GangLaunch) -> Rendered:
        return Rendered(
            containers={
                request.task_id: self._container_command(request.node, request)
                for request in launch.requests
                if request.image
            }
        )

    async def launch(self, launch: GangLaunch) -> Launched:
        return await self._launcher.launch(launch)

    async def stop(self, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        results = await asyncio.gather(*(self._stop(task, grace_s) for task in tasks), return_exceptions=True)
        missed = [(task, result) for task, result in zip(tasks, results, strict=True) if result is not None]
        if len(missed) == len(tasks) and all(isinstance(error, Unreachable) for _, error in missed):
            raise missed[0][1]
        for task, error in missed:
            _log.warning("stop not delivered", task=task.task_id, error=str(error))
        return [task.task_id for task, _ in missed]

    async def observe_all(self, node: str | None = None) -> Observed:
        asked = self._nodes.values() if node is None else [self._agent(node)]
        reachable = [agent for agent in asked if agent.node.is_reachable]
        answers = await asyncio.gather(*(self._listed(agent) for agent in reachable), return_exceptions=True)
        seen: list[Observation] = []
        answered: set[str] = set()
        for agent, answer in zip(reachable, answers, strict=True):
            if isinstance(answer, BackendError):
                _log.info("node did not list its tasks", node=agent.node.name, error=str(answer))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                seen += answer
                answered.add(agent.node.name)
        return Observed(tuple(seen), Scope(frozenset(answered)))

    # Node administration

    def forget_host_key(self, node: str) -> None:
        """A node that is reached over a pipe has no host key."""

    def reconnect(self, node: str) -> None:
        self._agent(node).reconnect()

    def execute(self, node: str, argv: Sequence[str], timeout_s: float) -> AsyncGenerator[CommandOutput | CommandEnd]:
        return self._exec.run(self._agent(node), argv, timeout_s)

    # What the agents report

    def pushed(self, agent: AgentNode, message: Message) -> None:
        event = message.get("event")
        if event == "task":
            self._task_pushed(agent, message["status"])
        elif event == "log":
            self._logs.grown(message["task"], int(message["size"]))
        elif event == "usage":
            self._usage_pushed(agent, message)

    def usage_received(self, agent: AgentNode) -> None:
        """The agent has sent a sample of metrics. Another node may have joined or left since the last one."""

    def withheld(self, agent: AgentNode) -> Mapping[int, str]:
        """Why GPUs that work are not allocated through this node, by index."""
        return {}

    def device_files(self, node: str) -> DeviceFiles:
        """The devices other than GPUs that the node should have."""
        return self.settings.devices

    def changed(self, agent: AgentNode) -> None:
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)

    def ready(self, agent: AgentNode) -> None:
        """The node is connected, for the first time or again."""
        self._shipping.forget(agent.node.name)
        self._isolation.ready(agent)
        self._probes.ready(agent)
        self._health.ready(agent)
        if self._listener is not None and self._is_started:
            self._listener.reconnected(self.cluster, agent.node.name)
            self._logs.watch_again(agent)

    def _usage_pushed(self, agent: AgentNode, message: Message) -> None:
        name = agent.node.name
        if self._nodes.get(name) is not agent:
            return  # the last sample of a node that has left
        usage = self._usage.add(name, message)
        agent.note_time(usage.at)
        self.usage_received(agent)
        reasons = {**self.withheld(agent), **out_of_service(usage.metrics["gpus"], agent.node.capacity.devices)}
        agent.note_devices(reasons)
        agent.note_alerts("gpus", gpu_alerts(reasons))

    def _task_pushed(self, agent: AgentNode, status: Mapping[str, Any]) -> None:
        self._logs.status_changed(status)
        if self._listener is not None:
            self._listener.task_observed(self.cluster, observation(agent, status))

    async def _stop(self, task: TaskRef, grace_s: float) -> None:
        answer = await self._agent(task.node).ask("stop", task=task.task_id, grace_s=grace_s)
        if answer.get("phase") == "unknown" and self._listener is not None:
            self._listener.task_observed(self.cluster, Observation(task.task_id, Phase.ENDED, stopped=True))

    async def _listed(self, agent: AgentNode) -> Sequence[Observation]:
        answer = await agent.ask("list")
        for status in answer["tasks"]:
            self._logs.status_changed(status)  # it may have ended while the connection was down
        return [observation(agent, status) for status in answer["tasks"]]

    def _container_command(self, node: str, request: LaunchRequest) -> ContainerCommand:
        agent = self._nodes.get(node)
        if agent is None:
            return ContainerCommand(why=f"cluster {self.cluster} has no node yet")
        return self._probes.engines.command(agent, request)

    async def _ask_node(self, node: str, op: str, /, **arguments: Any) -> Message:
        return await self._agent(node).ask(op, **arguments)

    def _agent(self, node: str) -> AgentNode:
        if node not in self._nodes:
            raise NotFound(f"cluster {self.cluster} has no node {node!r}")
        return self._nodes[node]
