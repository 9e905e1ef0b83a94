"""A Backend over nodes with agents: Muster places every task itself, the agents run them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from muster.agent.errors import NOT_SHIPPED
from muster.agent.system.frames import Message
from muster.backends.agents.archive_transfer import Shipping
from muster.backends.agents.connection import AgentNode, quietly
from muster.backends.agents.environments import AgentEnvironments
from muster.backends.agents.gpu_health import card_alerts, out_of_service
from muster.backends.agents.logs import AgentLogs
from muster.backends.agents.node_exec import Commanding
from muster.backends.agents.node_probes import Surroundings
from muster.backends.agents.output_collection import Collecting
from muster.backends.agents.remote_files import AgentFiles
from muster.backends.agents.spec_support import cannot_honour
from muster.backends.agents.usage_history import UsageRing
from muster.backends.agents.usage_rates import UsageMeter
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, MusterError, NotFound, Problem
from muster.domain.nodes import Node
from muster.domain.specs import JobSpec
from muster.ports.backend import (
    BackendListener,
    Collected,
    CommandEnd,
    CommandOutput,
    ContainerCommand,
    LaunchRequest,
    LogChunk,
    NodeUsage,
    Observation,
    Phase,
    Unready,
)
from muster.ports.files import FileSpace

_log = structlog.get_logger("backends.pool")
RETIRE_AFTER_S = 1.0
_RETIRED_AT_ONCE = 1000


class AgentPool:
    """Implements `ports.backend.Backend`. Subclasses make the nodes and may know shortcuts."""

    ships = False
    """Whether the nodes have disks of their own: what tasks need is then sent to them."""

    def __init__(self, settings: PhysicalCluster) -> None:
        self.cluster = settings.name
        self.settings = settings
        self._nodes: dict[str, AgentNode] = {}
        self.files: FileSpace | None = AgentFiles(self._agent)
        self._usage: dict[str, NodeUsage] = {}
        self._meters: dict[str, UsageMeter] = defaultdict(UsageMeter)
        self._rings: dict[str, UsageRing] = defaultdict(UsageRing)
        self._logs = AgentLogs()
        self._commanding = Commanding()
        self._listener: BackendListener | None = None
        self._is_started = False
        self._settled: dict[str, list[str]] = defaultdict(list)
        self._retiring: set[asyncio.Task[None]] = set()
        self._shipping = Shipping(self._ask_node, lambda node: self._agent(node).outward)
        self._collecting = Collecting(self._ask_node, lambda node: self._agent(node).inward)
        self._surroundings = Surroundings(lambda: self.settings, lambda: list(self._nodes.values()))
        self.environments = AgentEnvironments(lambda: self.settings, self._agent, self._surroundings.engines)

    def add(self, node: AgentNode) -> None:
        self._nodes[node.node.name] = node

    def drop(self, name: str) -> None:
        """The node is no longer one of ours."""
        self._nodes.pop(name, None)
        self._usage.pop(name, None)
        self._meters.pop(name, None)
        self._rings.pop(name, None)
        self._shipping.forget(name)
        self._surroundings.forget(name)
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)

    async def start(self, listener: BackendListener) -> None:
        self._listener = listener
        await asyncio.gather(*(node.start() for node in self._nodes.values()))
        self._is_started = True

    async def close(self) -> None:
        for task in self._retiring:
            task.cancel()
        await self._commanding.close()
        await self._logs.close()
        await self._surroundings.close()
        await self._shipping.close()
        await asyncio.gather(*(node.close() for node in self._nodes.values()))

    async def configure(self, settings: PhysicalCluster) -> None:
        self.settings = settings
        self._surroundings.settings_changed()

    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return list(cannot_honour(spec, self.settings, list(self._nodes), self._surroundings.engines))

    def nodes(self) -> list[Node]:
        return [agent.node for agent in self._nodes.values()]

    def usage(self) -> Mapping[str, NodeUsage]:
        return self._usage

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        return self._rings[node].since(since) if node in self._rings else ()

    async def reserve_ports(self, node: str, owner: str, count: int) -> tuple[int, ...]:
        answer = await self._agent(node).ask("reserve_ports", owner=owner, count=count)
        return tuple(answer["ports"])

    async def release_ports(self, node: str, owner: str) -> None:
        await self._agent(node).ask("release_ports", owner=owner)

    async def prepare(self, requests: Sequence[LaunchRequest]) -> list[Unready]:
        """Side by side; when one node cannot be prepared, the others are not waited for."""
        wanted = {(request.node, one.digest): one.path for request in requests for one in request.sources}
        if not self.ships or not wanted:
            return []
        bringing = [asyncio.create_task(self._bring(node, digest, path)) for (node, digest), path in wanted.items()]
        try:
            for done in asyncio.as_completed(bringing):
                if unready := await done:
                    return [unready]
            return []
        finally:
            for task in bringing:
                task.cancel()
            await asyncio.gather(*bringing, return_exceptions=True)

    def sending(self, digests: Collection[str]) -> str:
        return self._shipping.told(digests)

    def container_command(self, request: LaunchRequest) -> ContainerCommand:
        agent = self._nodes.get(request.node)
        if agent is None:
            return ContainerCommand(why=f"cluster {self.cluster} has no node yet")
        return self._surroundings.engines.command(agent, request)

    async def launch(self, request: LaunchRequest) -> str:
        try:
            return await self._launch(request)
        except BackendError as error:
            if error.reason != NOT_SHIPPED:
                raise
        self._shipping.forget(request.node)  # the node made room for others meanwhile
        for one in request.sources:
            await self._shipping.ensure(request.node, one.digest, one.path)
        return await self._launch(request)

    async def _bring(self, node: str, digest: str, path: Path) -> Unready | None:
        try:
            await self._shipping.ensure(node, digest, path)
        except MusterError as error:
            reason = error.reason if isinstance(error, BackendError) else ""
            return Unready(node, reason or error.code, error.message)
        return None

    async def _launch(self, request: LaunchRequest) -> str:
        package, container = request.package, None
        if request.image:
            request, container = await self._surroundings.engines.contained(self._agent(request.node), request)
        await self._agent(request.node).ask(
            "launch",
            task=request.task_id,
            argv=list(request.argv),
            env=dict(request.env),
            files=dict(request.files),
            ports=list(request.ports),
            port_owner=request.port_owner if request.ports else None,
            devices=list(request.devices),
            limits=_limits(request),
            package={"digest": package.digest, "path": self._path_there(package.path)} if package else None,
            inputs=[
                {
                    "digest": one.digest,
                    "path": self._path_there(one.path),
                    "target": one.target,
                    "member": one.member,
                }
                for one in request.inputs
            ],
            links=dict(request.links),
            container=container,
            cwd=None,
        )
        return request.task_id

    async def stop(self, task_id: str, node: str, grace_s: float) -> None:
        answer = await self._agent(node).ask("stop", task=task_id, grace_s=grace_s)
        if answer.get("phase") == "unknown" and self._listener is not None:
            self._listener.task_observed(Observation(task_id, Phase.ENDED, stopped=True))

    async def observe_all(self, node: str | None = None) -> dict[str, Sequence[Observation]]:
        asked = self._nodes.values() if node is None else [self._agent(node)]
        reachable = [agent for agent in asked if agent.node.is_reachable]
        answers = await asyncio.gather(*(self._listed(agent) for agent in reachable), return_exceptions=True)
        heard: dict[str, Sequence[Observation]] = {}
        for agent, answer in zip(reachable, answers, strict=True):
            if isinstance(answer, BackendError):
                _log.info("node did not say what it has", node=agent.node.name, error=str(answer))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                heard[agent.node.name] = answer
        return heard

    def forget_host_key(self, node: str) -> None:
        """Nothing is kept of nodes that are reached by a pipe."""

    def reconnect(self, node: str) -> None:
        self._agent(node).reconnect()

    def execute(self, node: str, argv: Sequence[str], timeout_s: float) -> AsyncGenerator[CommandOutput | CommandEnd]:
        return self._commanding.run(self._agent(node), argv, timeout_s)

    def settled(self, task_id: str, node: str) -> None:
        """Told to the node together with others, a little later: it is housekeeping."""
        if not self._settled:
            asyncio.get_running_loop().call_later(RETIRE_AFTER_S, self._start_retiring)
        self._settled[node].append(task_id)

    async def forget(self, task_id: str, node: str) -> None:
        await self._agent(node).ask("forget", task=task_id)

    async def read_log(self, task_id: str, node: str, offset: int, limit: int) -> LogChunk:
        return await self._logs.read(self._agent(node), task_id, offset, limit)

    async def tail_offset(self, task_id: str, node: str, lines: int) -> int:
        return int((await self._agent(node).ask("tail_offset", task=task_id, lines=lines))["offset"])

    def watch_log(self, task_id: str, node: str) -> AsyncGenerator[int]:
        return self._logs.watch(self._agent(node), task_id)

    async def collect_log(self, task_id: str, node: str, target: Path) -> None:
        await self._logs.collect(self._agent(node), task_id, target)

    async def collect_outputs(
        self, task_id: str, node: str, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        return await self._collecting.collect(task_id, node, patterns, target, admit)

    def _start_retiring(self) -> None:
        settled, self._settled = self._settled, defaultdict(list)
        task = asyncio.create_task(self._retire(settled))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _retire(self, settled: Mapping[str, Sequence[str]]) -> None:
        for node, tasks in settled.items():
            for first in range(0, len(tasks), _RETIRED_AT_ONCE):
                batch = list(tasks[first : first + _RETIRED_AT_ONCE])
                await quietly(self._agent(node).ask("retire", tasks=batch))

    # What the agents say

    def pushed(self, agent: AgentNode, message: Message) -> None:
        event = message.get("event")
        if event == "task":
            self._task_pushed(agent, message["status"])
        elif event == "log":
            self._logs.grown(message["task"], int(message["size"]))
        elif event == "usage":
            self._usage_pushed(agent, message)

    def _usage_pushed(self, agent: AgentNode, message: Message) -> None:
        name = agent.node.name
        if self._nodes.get(name) is not agent:
            return  # a last word of one that has left
        usage = self._usage[name] = self._meters[name].read(message)
        self._rings[name].add(usage)
        agent.note_time(usage.at)
        self.heard(agent)
        reasons = {**self.withheld(agent), **out_of_service(usage.figures["gpus"], agent.node.capacity.devices)}
        agent.note_devices(reasons)
        agent.note_alerts("cards", card_alerts(reasons))

    def heard(self, agent: AgentNode) -> None:
        """It has told its figures. Another node may have come or gone since the last time."""

    def withheld(self, agent: AgentNode) -> Mapping[int, str]:
        """By index, why a card that is well is not given out by this node."""
        return {}

    def changed(self, agent: AgentNode) -> None:
        if self._listener is not None:
            self._listener.nodes_changed(self.cluster)

    def ready(self, agent: AgentNode) -> None:
        """It answers, for the first time or again."""
        self._shipping.forget(agent.node.name)
        self._surroundings.ready(agent)
        if self._listener is not None and self._is_started:
            self._listener.reconnected(self.cluster, agent.node.name)
            self._logs.watch_again(agent)

    def _task_pushed(self, agent: AgentNode, status: Mapping[str, Any]) -> None:
        self._logs.told(status)
        if self._listener is not None:
            self._listener.task_observed(_observation(agent, status))

    async def _listed(self, agent: AgentNode) -> Sequence[Observation]:
        answer = await agent.ask("list")
        for status in answer["tasks"]:
            self._logs.told(status)  # it may have ended while nobody could tell us
        return [_observation(agent, status) for status in answer["tasks"]]

    def _path_there(self, path: Path) -> str | None:
        """Where the agent finds an archive: on the disk that it shares with us, or in its own store."""
        return None if self.ships else str(path)

    async def _ask_node(self, node: str, op: str, /, **arguments: Any) -> Message:
        return await self._agent(node).ask(op, **arguments)

    def _agent(self, node: str) -> AgentNode:
        if node not in self._nodes:
            raise NotFound(f"cluster {self.cluster} has no node {node!r}")
        return self._nodes[node]


def _limits(request: LaunchRequest) -> dict[str, int | None]:
    """Memory is a wall; CPU is a weight, so that idle cores may be used. A weight alone is not worth a cgroup."""
    if request.memory_bytes is None:
        return {}
    shares = None if request.cpu_m is None else max(2, request.cpu_m * 1024 // 1000)
    return {"memory_bytes": request.memory_bytes, "cpu_shares": shares}


def _observation(agent: AgentNode, status: Mapping[str, Any]) -> Observation:
    error, ours = status.get("error") or {}, agent.clock.ours
    return Observation(
        task_id=status["task"],
        phase=Phase(status["phase"]),
        handle=status["task"],
        node=agent.node.name,
        started_at=ours(status.get("started_at")),
        ended_at=ours(status.get("ended_at")),
        exit_code=status.get("exit_code"),
        signal=status.get("signal"),
        oom=bool(status.get("oom")),
        disk_full=bool(status.get("disk_full")),
        stopped=bool(status.get("stopped")),
        error_code=error.get("code", ""),
        error_message=error.get("message", ""),
        checkpoint_at=ours(status.get("checkpoint_at")),
    )
