"""Gang scheduling as the controller uses it: watches what a scheduling needs to know, and asks it.

`--scheduling` chooses: the own gang guard, Volcano, the PodGroups of Kubernetes, or nothing. With each of them, a job
whose workers name Volcano as their scheduler joins the PodGroup that its user made.
"""

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

import structlog

from muster.domain.errors import Invalid, MusterError
from muster.kubernetes.connection import Connection
from muster.kubernetes.pod_group_discovery import find_kubernetes_groups, find_volcano_groups
from muster.kubernetes.resources import Key, Object, Resource, key_of
from muster.kubernetes.watched import Change, Watched
from muster.lib.clock import Clock
from muster.operator.control.guarding import GuardedScheduling
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.pod_states import prune_pod
from muster.operator.job.world import World
from muster.operator.scheduling import kubernetes_groups, pod_groups, volcano
from muster.operator.scheduling.gangs import is_over
from muster.operator.scheduling.guard import TAKE_BACK_S
from muster.operator.scheduling.verdict import Verdict

Wake = Callable[[Key], None]
_log = structlog.get_logger("operator.scheduling")
_RETRY_S = 10.0
_UNAVAILABLE = "PodGroupsUnavailable"


class Word(StrEnum):
    """The values of `--scheduling`."""

    GUARD = ""
    VOLCANO = "volcano"
    KUBERNETES = "kubernetes"
    NONE = "none"


class GangScheduling(Protocol):
    """What the controller asks of a scheduling."""

    def prune_pod(self, raw: dict[str, Any]) -> Object:
        """What the cache keeps of a pod of a job."""

    def pod_changed(self, change: Change) -> None: ...

    def job_gone(self, uid: str) -> None: ...

    def cache_of(self, resource: Resource) -> Watched | None:
        """The cache of PodGroups, if there is one. A user may have made any object in it."""

    async def start(self, tasks: asyncio.TaskGroup, wake: Wake) -> None:
        """Begin to watch. Returns when verdicts can be given."""

    def schedule(self, job: PaddleJob, world: World) -> Verdict: ...


def gang_scheduling(
    word: str, connection: Connection, namespace: str | None, clock: Clock, *, take_back_s: float = TAKE_BACK_S
) -> GangScheduling:
    match word:
        case Word.GUARD:
            return GuardedScheduling(connection, namespace, clock, take_back_s)
        case Word.VOLCANO:
            return GroupScheduling(VolcanoGroups(connection), connection, namespace)
        case Word.KUBERNETES:
            return GroupScheduling(KubernetesGroups(connection, namespace), connection, namespace)
        case Word.NONE:
            return PlainScheduling()
        case _:
            raise Invalid(f"--scheduling={word} is unknown", hint="use volcano, kubernetes or none, or leave it out")


class PlainScheduling:
    """The pods are left to their schedulers."""

    def prune_pod(self, raw: dict[str, Any]) -> Object:
        return prune_pod(raw)

    def pod_changed(self, change: Change) -> None:
        pass

    def job_gone(self, uid: str) -> None:
        pass

    def cache_of(self, resource: Resource) -> Watched | None:
        return None

    async def start(self, tasks: asyncio.TaskGroup, wake: Wake) -> None:
        pass

    def schedule(self, job: PaddleJob, world: World) -> Verdict:
        if is_over(job) or not volcano.names_volcano(job):
            return Verdict()
        return volcano.with_user_group(job)


class Groups(Protocol):
    """One kind of PodGroups."""

    async def find(self) -> Resource:
        """The resource that the API server offers. Raises Missing, in words for the users, if it does not."""

    def applies(self, job: PaddleJob) -> bool: ...

    def verdict(self, job: PaddleJob, world: World, group: Object | None, resource: Resource) -> Verdict: ...


class GroupScheduling(PlainScheduling):
    """Pods belong to PodGroups, which are watched, so that no change of theirs is missed. Until the API server offers
    them, jobs wait and say so."""

    def __init__(self, groups: Groups, connection: Connection, namespace: str | None) -> None:
        self._groups, self._connection, self._namespace = groups, connection, namespace
        self._resource: Resource | None = None
        self._cache: Watched | None = None
        self._problem = ""
        self._waiting: set[Key] = set()

    def cache_of(self, resource: Resource) -> Watched | None:
        return self._cache if resource == self._resource else None

    async def start(self, tasks: asyncio.TaskGroup, wake: Wake) -> None:
        if not await self._begin(tasks, wake):
            tasks.create_task(self._keep_trying(tasks, wake))

    def schedule(self, job: PaddleJob, world: World) -> Verdict:
        group = None if self._cache is None else self._cache.get((job.namespace, job.name))
        if is_over(job):
            removed = () if self._resource is None else pod_groups.removal(self._resource, job, group)
            return Verdict(actions=removed)
        if not self._groups.applies(job):
            return super().schedule(job, world)
        if self._resource is None:
            self._waiting.add((job.namespace, job.name))
            return Verdict(may_create=False, code=_UNAVAILABLE, reason=self._problem, is_warning=True)
        return self._groups.verdict(job, world, group, self._resource)

    async def _keep_trying(self, tasks: asyncio.TaskGroup, wake: Wake) -> None:
        while True:
            await asyncio.sleep(_RETRY_S)
            if await self._begin(tasks, wake):
                break
        for key in self._waiting:
            wake(key)
        self._waiting.clear()

    async def _begin(self, tasks: asyncio.TaskGroup, wake: Wake) -> bool:
        try:
            resource = await self._groups.find()
            async for _ in self._connection.pages(resource, self._namespace):
                break  # the right to list them is what can be missing
        except MusterError as error:
            self._problem = f"PodGroups cannot be used: {error.message}"
            _log.warning("no gang scheduling yet", error=error.message)
            return False

        def changed(change: Change) -> None:
            wake(key_of(change.object))

        cache = Watched(self._connection, resource, namespace=self._namespace, prune=_prune_group, changed=changed)
        tasks.create_task(cache.run())
        await cache.synced.wait()
        self._cache, self._resource = cache, resource
        return True


class VolcanoGroups:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def find(self) -> Resource:
        return await find_volcano_groups(self._connection)

    def applies(self, job: PaddleJob) -> bool:
        return volcano.applies(job)

    def verdict(self, job: PaddleJob, world: World, group: Object | None, resource: Resource) -> Verdict:
        return volcano.with_own_group(job, world, group)


class KubernetesGroups:
    def __init__(self, connection: Connection, namespace: str | None) -> None:
        self._connection, self._namespace = connection, namespace or connection.namespace

    async def find(self) -> Resource:
        return await find_kubernetes_groups(self._connection, self._namespace)

    def applies(self, job: PaddleJob) -> bool:
        return kubernetes_groups.applies(job)

    def verdict(self, job: PaddleJob, world: World, group: Object | None, resource: Resource) -> Verdict:
        return kubernetes_groups.with_group(job, world, group, resource)


def _prune_group(raw: dict[str, Any]) -> Object:
    kept = ("namespace", "name", "uid", "resourceVersion", "ownerReferences", "deletionTimestamp")
    metadata: Mapping[str, Any] = raw["metadata"]
    status = raw.get("status") or {}
    return {
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": raw.get("spec") or {},
        "status": {"phase": status.get("phase")},
    }
