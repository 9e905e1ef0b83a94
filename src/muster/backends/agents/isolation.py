"""How the tasks of each owner are isolated on nodes with agents.

Jobs of the person under whose Unix account the server runs are not isolated from that account: they may use what the
person may use. All other jobs are isolated as the cluster's file says, or as well as the node can.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import structlog

from muster.backends.agents.connection import AgentNode
from muster.domain.access import is_open
from muster.domain.accounts import USER_ID_PREFIX
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, Problem
from muster.domain.isolation import IsolationMode
from muster.domain.launch_requests import LaunchRequest
from muster.domain.needs import folder_name
from muster.domain.specs import JobSpec
from muster.launch.containers import DOCKER, Engine
from muster.ports.capabilities import GivenIsolation
from muster.ports.user_ids import UserIds, no_user_ids

_ROOT_NEEDED = "the agent there is not root, and cannot start tasks under other accounts"
_NOT_TRIED = "environments in folders of users cannot be tried there, because the agent is not root"
_ROOTFUL_DOCKER = "docker runs as root and the agent's account may call it, so that any task there could become root"
_OTHER_DEVICES = "tasks can open devices that were allocated to others"
_OTHER_GPUS = "tasks can open GPUs that were allocated to others"
_OUTLIVE = "processes that hide from their session can outlive their task"
_ROCM = "rocm-smi"
CANNOT_ISOLATE = "cannot-isolate"
SOURCE = "isolation"
_log = structlog.get_logger("backends.isolation")


class PoolIsolation:
    """Implements `ports.capabilities.TaskIsolation`. `own_user` is the Muster user to whom the account of the server
    belongs. `identity` distinguishes this server from others that use the same machines."""

    def __init__(
        self,
        settings: Callable[[], PhysicalCluster],
        agents: Callable[[], Iterable[AgentNode]],
        own_user: str,
        identity: str,
        user_ids: UserIds = no_user_ids,
    ) -> None:
        self._settings = settings
        self._agents = agents
        self._own_user = own_user
        self._identity = identity
        self._user_ids = user_ids

    def ready(self, agent: AgentNode) -> None:
        """The node is connected. What it cannot do is said at once, and not when the first job comes."""
        if problem := self._problem(agent):
            _log.warning("tasks of other users cannot be isolated as configured", node=agent.node.name, why=problem)
        elif self._mode(agent) is IsolationMode.NONE:
            why = "the cluster's file says so" if self._settings().isolation.mode else _why_not(agent)
            _log.warning("tasks of different users are not isolated", node=agent.node.name, why=why)
        for gap in self._gaps(agent):
            _log.warning("isolation has a gap", node=agent.node.name, gap=gap)

    def engine_found(self, agent: AgentNode, engine: Engine | None) -> None:
        """Raise an alert if tasks that run under the agent's account could use an engine that runs as root."""
        is_root_engine = engine is not None and engine.name == DOCKER and not engine.rootless
        shares_account = self._mode(agent) in (IsolationMode.NONE, IsolationMode.CONTAINER)
        is_alert = is_root_engine and shares_account and int(agent.hello["uid"]) != 0
        agent.note_alerts(SOURCE, [_ROOTFUL_DOCKER] if is_alert else [])

    def given(self) -> GivenIsolation:
        """What the weakest of the connected nodes gives."""
        settings = self._settings().isolation
        known = [agent for agent in self._agents() if agent.hello]
        modes = {agent.node.name: self._mode(agent) for agent in known}
        weak = next((agent for agent in known if modes[agent.node.name] is IsolationMode.NONE), None)
        if weak is not None:
            why = "the cluster's file says so" if settings.mode else f"node {weak.node.name}: {_why_not(weak)}"
            return GivenIsolation(IsolationMode.NONE, why, settings.trust_users)
        mode = settings.mode or next(iter(modes.values()), None)
        problems = [problem for agent in known if (problem := self._problem(agent))]
        gaps = tuple(f"node {agent.node.name}: {gap}" for agent in known for gap in self._gaps(agent))
        return GivenIsolation(mode, problems[0] if problems else "", settings.trust_users, gaps)

    def _unable(self) -> str:
        """Why no node that is connected can do what the cluster's file says; empty if one can."""
        problems = [self._problem(agent) for agent in self._agents() if agent.hello]
        return problems[0] if all(problems) and problems else ""

    def with_image(self, request: LaunchRequest) -> LaunchRequest:
        """Where all tasks run in containers, one without an image gets that of the cluster's file. Raises
        BackendError."""
        settings = self._settings().isolation
        if request.image or request.owner == self._own_user or settings.mode is not IsolationMode.CONTAINER:
            return request
        if settings.image is None:
            raise BackendError("tasks without an image cannot run on this cluster", reason=CANNOT_ISOLATE)
        return replace(request, image=settings.image)

    def refusal(self, spec: JobSpec, owner: str) -> Problem | None:
        settings, given = self._settings().isolation, self.given()
        if owner == self._own_user:
            return None
        if unable := self._unable():
            message = (
                f"cluster {self._settings().name} cannot isolate the tasks of its users as its file says: {unable}"
            )
            return Problem("cluster", message, "an admin has to change the file or the nodes; see `muster doctor`")
        if settings.mode is IsolationMode.CONTAINER and not spec.runtime.image and not settings.image:
            message = f"all jobs on cluster {self._settings().name} run in containers"
            return Problem("runtime.image", message, "name an image, or have an admin write `image` in the file")
        if problem := _mount_problem(spec, self._settings(), given.mode):
            return problem
        return self._distrust(given)

    def _distrust(self, given: GivenIsolation) -> Problem | None:
        if given.mode is not IsolationMode.NONE or given.trusts_users:
            return None
        name = self._settings().name
        return Problem(
            "cluster",
            f"cluster {name} does not isolate the tasks of its users from each other ({given.why})",
            "an admin can allow it with `trustUsers: true` in the cluster's file; see the guide to isolation",
        )

    async def trial_order(self, agent: AgentNode, user: str, path: str) -> dict[str, Any] | None:
        """How an environment is tried for a user. One that is in a folder of the node, at `path`, may have been made by
        its users. Raises BackendError."""
        order = await self._order(agent, user, (path,))
        if order is None:
            return None
        if problem := self._distrust(self.given()):
            raise BackendError(problem.message, reason=CANNOT_ISOLATE)
        if path and order["mode"] == IsolationMode.USER and not self.has_accounts(agent):
            raise BackendError(_NOT_TRIED, reason=CANNOT_ISOLATE)
        if path and order["mode"] == IsolationMode.NONE and self._mode(agent) is IsolationMode.CONTAINER:
            raise BackendError("only images can be tried here: all tasks run in containers", reason=CANNOT_ISOLATE)
        return order

    async def order(self, agent: AgentNode, request: LaunchRequest) -> dict[str, Any] | None:
        """What the agent is asked for. None if the task belongs to the owner of the account. Raises BackendError."""
        shown = [*request.links.values(), *(mount.source for mount in request.mounts)]
        return await self._order(agent, request.owner, shown)

    async def _order(self, agent: AgentNode, owner: str, shown: Iterable[str]) -> dict[str, Any] | None:
        """`shown` are paths that the owner may use; the folders in which they are become visible."""
        order = await self.account_order(agent, owner)
        return None if order is None else {**order, "folders": _visible_folders(self._settings(), owner, shown)}

    async def account_order(self, agent: AgentNode, owner: str) -> dict[str, Any] | None:
        """The account under which the agent acts for this user; None if it is the agent's own. Raises BackendError."""
        if owner == self._own_user:
            return None
        if problem := self._problem(agent):
            raise BackendError(f"node {agent.node.name}: {problem}", reason=CANNOT_ISOLATE)
        owner_id = await self._user_ids(owner)
        settings, mode = self._settings(), self._mode(agent)
        first, last = settings.isolation.first_uid, settings.isolation.last_uid
        # A container confines its task. With an account of its own it needs nothing but that account.
        is_by_account = mode is IsolationMode.USER or self.has_accounts(agent)
        contained = IsolationMode.USER if is_by_account else IsolationMode.NONE
        return {
            "mode": str(contained if mode is IsolationMode.CONTAINER else mode),
            "owner": owner,
            "owner_id": owner_id,
            "account": settings.isolation.accounts.get(owner),
            "uid": first + _spread(f"{self._identity}/{_number_key(owner, owner_id)}") % (last - first + 1),
            "first_uid": first,
            "last_uid": last,
        }

    def has_accounts(self, agent: AgentNode) -> bool:
        """Whether the agent itself can act under the accounts of its users. By a helper it can only start tasks."""
        return bool(_abilities(agent)["user"])

    def _mode(self, agent: AgentNode) -> IsolationMode:
        wished, can = self._settings().isolation.mode, _abilities(agent)
        if wished is not None:
            return wished
        if can["user"] or _has_helper(can):
            return IsolationMode.USER
        return IsolationMode.NAMESPACE if can["namespace"] else IsolationMode.NONE

    def _problem(self, agent: AgentNode) -> str:
        """Why the node cannot do what the cluster's file says."""
        wished, can = self._settings().isolation.mode, _abilities(agent)
        if wished is IsolationMode.USER and not can["user"] and not _has_helper(can):
            return _root_needed(can)
        if wished is IsolationMode.NAMESPACE and not can["namespace"]:
            return str(can["why"])
        return ""

    def _gaps(self, agent: AgentNode) -> Iterator[str]:
        """What tasks of other users can do there although they have accounts of their own. Namespaces and containers
        have no such gaps: a task sees only its own devices, and its processes end with it."""
        if self._mode(agent) is not IsolationMode.USER:
            return
        can = _abilities(agent)
        if problem := can.get("groups"):
            yield f"{_OUTLIVE}: {problem}"
        if agent.node.capacity.extended and (problem := can.get("devices")):
            yield f"{_OTHER_DEVICES}: {problem}"
        if not agent.hello["gpus"]:
            return
        if agent.hello["gpu_source"] == _ROCM:
            yield f"{_OTHER_GPUS}: the device files of AMD GPUs are not told apart"
        elif problem := can.get("devices"):
            yield f"{_OTHER_GPUS}: {problem}"


def _abilities(agent: AgentNode) -> Mapping[str, Any]:
    """What the agent found out about its machine. One that says nothing about it can do nothing."""
    found = agent.hello.get("isolation")
    return found if found is not None else {"user": False, "namespace": False, "why": "its agent does not say"}


def _why_not(agent: AgentNode) -> str:
    can = _abilities(agent)
    return f"{_root_needed(can)}; {can['why']}"


def _has_helper(can: Mapping[str, Any]) -> bool:
    return can.get("helper") == ""


def _root_needed(can: Mapping[str, Any]) -> str:
    why = can.get("helper")
    return f"{_ROOT_NEEDED} ({why})" if why else _ROOT_NEEDED


def _number_key(owner: str, owner_id: str) -> str:
    """What the number of an owner without an account is derived from. The users of earlier versions, whose ids have no
    prefix, keep the number that was derived from their name, on nodes that are added later, too."""
    return owner_id if owner_id.startswith(USER_ID_PREFIX) else owner


def _spread(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _visible_folders(settings: PhysicalCluster, owner: str, shown: Iterable[str]) -> list[dict[str, Any]]:
    """The folders that everybody or this owner may use, and those in which the job mounts something, which was admitted
    with it. They are shown as a whole: a path in a folder may be a link that its users have made."""
    mounted = {folder_name(path, settings) for path in shown}
    folders = [one for one in settings.folders if one.name in mounted or is_open(one) or owner in one.users]
    visible = {folder.path: folder.read_only for folder in folders}
    if settings.conda_root is not None:
        visible.setdefault(settings.conda_root, True)
    return [{"path": path, "read_only": read_only} for path, read_only in visible.items()]


def _mount_problem(spec: JobSpec, settings: PhysicalCluster, mode: IsolationMode | None) -> Problem | None:
    """What a job of another user may mount. Under the owner's account, the rights of files say it; but a container
    engine passes through closed folders, and follows links that somebody made in a folder."""
    if mode in (IsolationMode.USER, IsolationMode.NONE) and not spec.runtime.image:
        return None
    for place, mount in enumerate(spec.mounts):
        path = settings.path_of(mount.source) or mount.source
        folder = settings.folder(folder_name(path, settings) or "")
        if folder is None:
            hint = "name one of the cluster's folders, or have an admin add one to the cluster's file"
            return Problem(
                f"mounts[{place}].{mount.source_key}", f"{mount.source} is not in a folder of the cluster", hint
            )
        if spec.runtime.image and not folder.read_only and path.rstrip("/") != folder.path.rstrip("/"):
            hint = f"mount {folder.name} as a whole, or have an admin make it readOnly"
            message = f"a container cannot mount a part of {folder.name}, in which users can make links"
            return Problem(f"mounts[{place}].{mount.source_key}", message, hint)
    return None
