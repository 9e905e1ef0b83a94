"""Launches tasks on nodes with agents. Each request goes to the agent of its node, whose answer decides."""

import asyncio
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from muster.agent.errors import NOT_SHIPPED
from muster.agent.tasks.task_folder import SECRETS
from muster.backends.agents.archive_transfer import ArchiveTransfer
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.containers import ContainerAccount, Engines
from muster.backends.agents.isolation import PoolIsolation
from muster.backends.agents.setups import with_setup
from muster.domain.clusters import SetupCache
from muster.domain.errors import BackendError, MusterError, Unreachable
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.node_scripts import NodeScripts, TaskScript
from muster.domain.resources import ExtendedDevice
from muster.launch.muster_variables import device_variables
from muster.launch.registry_credentials import registry_config
from muster.launch.secret_variables import secret_files, secret_variables
from muster.ports.archives import Archives
from muster.ports.backend import Launched


class TaskLauncher:
    """`ships` means that the nodes have disks of their own, so that archives are sent to them. `log_bytes` is how much
    is kept of a log, and `max_tasks` how many tasks a node runs at most."""

    def __init__(
        self,
        agent: Callable[[str], AgentNode],
        engines: Engines,
        isolation: PoolIsolation,
        archives: Archives,
        shipping: ArchiveTransfer,
        *,
        ships: bool,
        max_tasks: Callable[[], int],
        log_bytes: int | None = None,
        scripts: Callable[[], NodeScripts] = NodeScripts,
        setup_cache: Callable[[], SetupCache] = SetupCache,
    ) -> None:
        self._agent = agent
        self._engines = engines
        self._isolation = isolation
        self._archives = archives
        self._shipping = shipping
        self._ships = ships
        self._max_tasks = max_tasks
        self._log_bytes = log_bytes
        self._scripts = scripts
        self._setup_cache = setup_cache

    async def launch(self, launch: GangLaunch) -> Launched:
        requests = _in_turns(launch.pending)
        if len(requests) == 1:
            answers = [await self._answer(requests[0], launch.secret_values)]
        else:
            answers = await asyncio.gather(*(self._answer(request, launch.secret_values) for request in requests))
        answered = {request.task_id: answer for request, answer in zip(requests, answers, strict=True)}
        return Launched(
            handles={task: answer for task, answer in answered.items() if isinstance(answer, str)},
            refused={task: answer for task, answer in answered.items() if isinstance(answer, BackendError)},
        )

    async def _answer(self, request: LaunchRequest, secrets: Mapping[str, bytes]) -> str | BackendError | None:
        """The handle, the refusal, or None when no answer came."""
        try:
            return await self._launch(request, secrets)
        except Unreachable:
            return None
        except BackendError as error:
            return error
        except MusterError as error:
            return BackendError(error.message, reason=error.code)

    async def _launch(self, request: LaunchRequest, secrets: Mapping[str, bytes]) -> str:
        try:
            return await self._start(request, secrets)
        except BackendError as error:
            if error.reason != NOT_SHIPPED:
                raise
        self._shipping.forget(request.node)  # the node made room for others meanwhile
        for digest in request.digests:
            await self._shipping.ensure(request.node, digest, self._archives.path(digest))
        return await self._start(request, secrets)

    async def _start(self, request: LaunchRequest, secrets: Mapping[str, bytes]) -> str:
        agent, container = self._agent(request.node), None
        if not agent.hello:
            await agent.ask("ping")  # which waits for the connection, and so for what the agent reports
        request = self._isolation.with_image(request)
        isolation = await self._isolation.order(agent, request)
        is_helped = isolation is not None and isolation["mode"] == "user" and not self._isolation.has_accounts(agent)
        request, setup = with_setup(agent, request, isolation, self._setup_cache(), is_helped=is_helped)
        if request.secrets:
            request = _with_variables(agent, request, secrets)
        if request.image:
            account = await self._account(agent, isolation)
            request, container = await self._engines.contained(
                agent, request, account, is_isolated=isolation is not None, registry=_registry(request, secrets)
            )
        await agent.ask(
            "launch",
            isolation=isolation,
            task=request.task_id,
            argv=list(request.argv),
            env=dict(request.env),
            files=dict(request.files),
            ports=list(request.ports),
            port_owner=request.gang_key if request.ports else None,
            devices=list(request.devices),
            **_device_files(agent, request),
            limits=_limits(request),
            log_bytes=self._log_bytes,
            max_tasks=self._max_tasks(),
            scripts=_scripts(self._scripts(), request),
            package=self._archive(request.package) if request.package else None,
            inputs=[
                {**self._archive(one.digest), "target": one.target, "member": one.member} for one in request.inputs
            ],
            links=dict(request.links),
            container=container,
            secrets=_secrets(request, secrets),
            stdin=request.stdin,
            tty=request.tty,
            setup=setup,
            root_files=_root_files(request),
            ssh=_ssh(request),
            cwd=None,
        )
        return request.task_id

    async def _account(self, agent: AgentNode, isolation: dict[str, Any] | None) -> ContainerAccount | None:
        """The account under which a container runs its task. None: the agent's own."""
        if isolation is None or isolation["mode"] == "none" or not self._isolation.has_accounts(agent):
            return None
        answer = await agent.ask("account", isolation=isolation)
        return ContainerAccount(int(answer["uid"]), int(answer["gid"]), str(answer["secret"]))

    def _archive(self, digest: str) -> dict[str, Any]:
        """An archive is on the disk that the agent shares with the server, or in the agent's own store."""
        path: Path | None = None if self._ships else self._archives.path(digest)
        return {"digest": digest, "path": None if path is None else str(path)}


def _device_files(agent: AgentNode, request: LaunchRequest) -> dict[str, list[str]]:
    """The files of its devices other than GPUs, and of those that the node has besides."""
    own, known = _paths(request.extended), _paths(agent.node.capacity.extended)
    return {"device_files": own, "other_device_files": [path for path in known if path not in own]}


def _paths(devices: Iterable[ExtendedDevice]) -> list[str]:
    return list(dict.fromkeys(path for device in devices for path in device.paths))


def _in_turns(requests: Sequence[LaunchRequest]) -> Sequence[LaunchRequest]:
    """The requests in an order in which every node gets its first launch before any gets its second."""
    if len(requests) == 1:
        return requests
    by_node: dict[str, list[LaunchRequest]] = defaultdict(list)
    for request in requests:
        by_node[request.node].append(request)
    return [request for turn in zip_longest(*by_node.values()) for request in turn if request is not None]


def _with_variables(agent: AgentNode, request: LaunchRequest, values: Mapping[str, bytes]) -> LaunchRequest:
    folder = f"{agent.hello['root']}/tasks/{request.task_id}/{SECRETS}"
    return replace(request, env={**request.env, **secret_variables(request.secrets, values, folder)})


def _secrets(request: LaunchRequest, values: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The files that the agent writes, and all values, which it masks in the task's log."""
    if not request.secrets:
        return None
    names = dict.fromkeys(use.name for use in request.secrets)
    return {
        "files": {path: _text(value) for path, value in secret_files(request.secrets, values).items()},
        "masked": [_text(values[name]) for name in names],
    }


def _registry(request: LaunchRequest, values: Mapping[str, bytes]) -> bytes | None:
    return registry_config(values[request.pull_secret]) if request.pull_secret else None


def _root_files(request: LaunchRequest) -> dict[str, list[str]]:
    return {"read": list(request.root_files.read), "written": list(request.root_files.written)}


def _ssh(request: LaunchRequest) -> dict[str, Any] | None:
    if request.ssh_hosts is None:
        return None
    return {"hosts": [[one.address, one.name] for one in request.ssh_hosts]}


def _text(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _scripts(scripts: NodeScripts, request: LaunchRequest) -> dict[str, Any] | None:
    """What runs around the task. The variables are Muster's own: nothing that the user has written is among them."""
    if scripts.prolog is None and scripts.epilog is None:
        return None
    job, attempt, *_ = request.task_id.split(".")
    return {
        "prolog": _script(scripts.prolog),
        "epilog": _script(scripts.epilog),
        "variables": {
            "MUSTER_JOB_ID": job,
            "MUSTER_ATTEMPT": attempt,
            "MUSTER_TASK_ID": request.task_id,
            "MUSTER_OWNER": request.owner,
            "MUSTER_NODE": request.node,
            "MUSTER_GPUS": ",".join(map(str, request.devices)),
            **device_variables(request.extended),
        },
    }


def _script(script: TaskScript | None) -> dict[str, Any] | None:
    return None if script is None else {"argv": list(script.command), "timeout_s": script.timeout_s}


def _limits(request: LaunchRequest) -> dict[str, int | None]:
    """Memory is a hard limit. CPU is a weight, so that idle cores can be used. A weight alone is not worth a cgroup."""
    if request.memory_bytes is None:
        return {}
    shares = None if request.cpu_m is None else max(2, request.cpu_m * 1024 // 1000)
    return {"memory_bytes": request.memory_bytes, "cpu_shares": shares}
