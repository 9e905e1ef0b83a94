"""Containers on nodes with agents: the container engine of each node, and the engine's command line for a task."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from muster.backends.agents.connection import AgentNode
from muster.domain.clusters import CONTAINER_GPUS, CONTAINERS
from muster.domain.errors import BackendError, Rejected
from muster.domain.launch_requests import LaunchRequest
from muster.domain.needs import OK
from muster.domain.specs import IMAGE_WORKDIR, Mount
from muster.launch.containers import APPTAINER, ContainerLaunch, ContainerTask, Engine, TaskFolder, container_launch
from muster.ports.backend import ContainerCommand

SOURCE = "containers"
_INPUTS = "inputs"
NO_WORKDIR = (
    "apptainer does not keep the WORKDIR of an image",
    "write its path, as runtime.workdir: /workspace, or null to start in the task's working directory",
)
"""The problem of a job that is to start where its image says, and a way out."""


@dataclass(frozen=True, slots=True)
class ContainerAccount:
    """The account under which a container runs its task. `secret` is in the names of its unpacked inputs."""

    uid: int
    gid: int
    secret: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a node's agent found. `problems` says why engines that are installed there do not work, and `lacking` says
    why the one that does cannot hand out GPUs, and what to do."""

    engine: Engine | None
    problems: Mapping[str, str]
    lacking: str = ""


class Engines:
    """The container engines of all nodes that have been probed."""

    def __init__(self) -> None:
        self._found: dict[str, Found] = {}

    def found(self, node: str) -> Found | None:
        return self._found.get(node)

    def forget(self, node: str) -> None:
        self._found.pop(node, None)

    async def probe(self, agent: AgentNode) -> Engine | None:
        """Ask the agent for its engine, and label the node with it."""
        answer = await agent.ask("engines")
        engines = [_engine(one) for one in answer["engines"]]
        engine = engines[0] if engines else None
        lacking = str(answer["engines"][0]["lacking"]) if engines else ""
        self._found[agent.node.name] = Found(engine, dict(answer["problems"]), lacking)
        agent.note_labels(SOURCE, _labels(engine))
        return engine

    async def contained(
        self,
        agent: AgentNode,
        request: LaunchRequest,
        account: ContainerAccount | None,
        *,
        is_isolated: bool,
        registry: bytes | None = None,
    ) -> tuple[LaunchRequest, dict[str, str | None]]:
        """The request with the engine's client as its command, and what the agent has to know about the container.
        `account` is the one that the task runs under; None if it is the agent's. An isolated task belongs to somebody
        to whom the agent's account does not. `registry` has the credentials for the registry of the image."""
        found = self.found(agent.node.name)
        engine = found.engine if found is not None else await self.probe(agent)
        if engine is None:
            raise BackendError(
                f"node {agent.node.name} has no container engine that works", reason="no-container-engine"
            )
        started = _contained(engine, agent, request, account, is_isolated=is_isolated, registry=registry)
        login = None if started.registry is None else b64encode(started.registry).decode("ascii")
        is_held_by_engine = engine.name != APPTAINER  # else its processes are the task's own, in the agent's groups
        memory_bytes = None if is_held_by_engine else request.memory_bytes
        return (
            replace(
                request,
                argv=started.argv,
                env=started.env,
                files={**request.files, **started.files},
                memory_bytes=memory_bytes,
            ),
            {"program": engine.program, "name": started.name, "registry": login},
        )

    def command(self, agent: AgentNode, request: LaunchRequest) -> ContainerCommand:
        """The command line that `contained` would make, as far as it is known now. The node is not asked."""
        name, found = agent.node.name, self.found(agent.node.name)
        if found is None or not agent.hello:
            return ContainerCommand(why=f"node {name} has not reported yet which container engine it has")
        if found.engine is None:
            reasons = "".join(f"; {engine}: {problem}" for engine, problem in sorted(found.problems.items()))
            return ContainerCommand(why=f"node {name} has no container engine that works{reasons}")
        try:
            return ContainerCommand(found.engine.name, _contained(found.engine, agent, request).command)
        except Rejected as error:
            return ContainerCommand(found.engine.name, why=error.message)


def _contained(
    engine: Engine,
    agent: AgentNode,
    request: LaunchRequest,
    account: ContainerAccount | None = None,
    *,
    is_isolated: bool = False,
    registry: bytes | None = None,
) -> ContainerLaunch:
    if engine.name == APPTAINER and request.workdir == IMAGE_WORKDIR and request.argv:
        message, hint = NO_WORKDIR
        raise Rejected(f"runtime.workdir: {message}: {hint}")
    own = account or ContainerAccount(int(agent.hello["uid"]), int(agent.hello["gid"]))
    content = replace(_content(request, agent.hello, own.secret), registry=registry)
    if is_isolated:
        available = int(request.memory_bytes or agent.hello["memory_bytes"])
        content = replace(content, private_shm_bytes=available // 2)  # what the kernel gives a /dev/shm by default
    return container_launch(engine, content, _place(request, agent.hello, own))


def _labels(engine: Engine | None) -> dict[str, str]:
    if engine is None:
        return {}
    return {CONTAINERS: engine.name, **({CONTAINER_GPUS: OK} if engine.gpus else {})}


def _engine(raw: Mapping[str, Any]) -> Engine:
    return Engine(
        name=str(raw["name"]),
        program=str(raw["program"]),
        rootless=bool(raw["rootless"]),
        init=bool(raw["init"]),
        limits=bool(raw["limits"]),
        gpus=str(raw["gpus"]),
        groups=tuple(int(group) for group in raw["groups"]),
    )


def _content(request: LaunchRequest, hello: Mapping[str, Any], secret: str) -> ContainerTask:
    """The task in its container. Inputs are links to folders of the node, which are therefore mounted, and no other
    task's."""
    ending = f".{secret}" if secret else ""
    kept = dict.fromkeys(f"{hello['root']}/{_INPUTS}/{one.digest}{ending}" for one in request.inputs)
    inputs = tuple(Mount(path, path, read_only=True) for path in kept)
    return ContainerTask(
        task_id=request.task_id,
        image=request.image or "",
        argv=request.argv,
        env=request.env,
        mounts=(*request.mounts, *inputs),
        devices=request.devices,
        device_files=tuple(dict.fromkeys(path for device in request.extended for path in device.paths)),
        memory_bytes=request.memory_bytes,
        cpu_m=request.cpu_m,
        args=request.args,
        workdir=request.workdir,
        stdin=request.stdin,
        tty=request.tty,
        root_files=request.root_files,
        ssh_hosts=request.ssh_hosts,
    )


def _place(request: LaunchRequest, hello: Mapping[str, Any], account: ContainerAccount) -> TaskFolder:
    return TaskFolder(f"{hello['root']}/tasks/{request.task_id}", account.uid, account.gid)
