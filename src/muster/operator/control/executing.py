"""Carries out the actions of a plan, and takes their results into the caches at once, so that the next plan knows them.

An action whose aim is reached already is done: a pod that exists and is ours, an object that is gone.
"""

import asyncio
from collections.abc import Sequence

import structlog

from muster.domain.errors import MusterError
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Exists, Missing, Outdated, Refused
from muster.kubernetes.resources import JOB_UID, PADDLE_JOBS, PODS, Resource, labels_of, owner_uid, uid_of
from muster.lib.clock import Clock
from muster.operator.control.caches import Caches
from muster.operator.control.memory import JobMemory
from muster.operator.control.writer import Writer
from muster.operator.job.actions import Action, Create, Delete, DeleteAll, Patch
from muster.operator.job.paddle_job import PaddleJob

_log = structlog.get_logger("operator.executing")
_AT_ONCE = 16
_DELETION_KNOWN_S = 30.0
"""How long a deletion that was asked for is believed in before the watch confirms it."""


class Held(MusterError):
    """The API server refuses to create an object. The job shows why, and it is tried again later."""


class Executor:
    def __init__(self, connection: Connection, writer: Writer, caches: Caches, clock: Clock) -> None:
        self._connection, self._writer, self._caches, self._clock = connection, writer, caches, clock
        self._deleted: dict[str, float] = {}
        self._limit = asyncio.Semaphore(_AT_ONCE)

    def is_deleted(self, uid: str) -> bool:
        """Whether the deletion of this object was asked for a moment ago."""
        at = self._deleted.get(uid)
        return at is not None and self._clock() - at < _DELETION_KNOWN_S

    async def run(self, job: PaddleJob, memory: JobMemory, stages: Sequence[Sequence[Action]]) -> None:
        for stage in stages:
            failures: list[Exception] = []
            await asyncio.gather(*(self._limited(job, memory, action, failures) for action in stage))
            if failures:
                raise failures[0]

    async def _limited(self, job: PaddleJob, memory: JobMemory, action: Action, failures: list[Exception]) -> None:
        """What was not begun when another action failed, or when somebody deleted the job, is left: a large job would
        otherwise be refused thousands of times, or outlive its deletion."""
        async with self._limit:
            if failures or self._is_gone(job):
                return
            try:
                await self._act(job, memory, action)
            except Exception as error:
                failures.append(error)

    def _is_gone(self, job: PaddleJob) -> bool:
        raw = self._caches.jobs.get((job.namespace, job.name))
        return raw is None or uid_of(raw) != job.uid or "deletionTimestamp" in raw["metadata"]

    async def _act(self, job: PaddleJob, memory: JobMemory, action: Action) -> None:
        match action:
            case Create():
                await self._create(job, memory, action)
            case Patch():
                await self._patch(job, action)
            case Delete():
                await self._delete(job, action)
            case DeleteAll():
                await self._delete_all(job, action)

    async def _create(self, job: PaddleJob, memory: JobMemory, action: Create) -> None:
        try:
            made = await self._writer.create(action.resource, action.manifest, job.namespace)
        except Exists:
            await self._adopt(job, memory, action)
            return
        except Refused as error:
            raise Held(f"{action.resource.kind} {action.name}: {error}") from error
        self._remember(action.resource, made)

    async def _adopt(self, job: PaddleJob, memory: JobMemory, action: Create) -> None:
        """The name is taken. The object is ours if an earlier look made it; that of an earlier job will go."""
        named = f"metadata.name={action.name}"
        for found in await self._connection.list(action.resource, job.namespace, fields=named):
            is_ours = owner_uid(found) == job.uid or self._caches.is_for_users(action.resource)
            if is_ours or JOB_UID in labels_of(found):
                self._remember(action.resource, found)
            else:
                memory.foreign[action.name] = action.resource.kind

    async def _patch(self, job: PaddleJob, action: Patch) -> None:
        try:
            made = await self._writer.patch(action.resource, action.name, action.patch, job.namespace)
        except Missing:
            self._forget(action.resource, job.namespace, action.name)
            return
        self._remember(action.resource, made)

    async def _delete(self, job: PaddleJob, action: Delete) -> None:
        if self.is_deleted(action.uid) and not action.is_forced:
            return
        try:
            await self._writer.delete(
                action.resource, action.name, job.namespace, uid=action.uid, is_forced=action.is_forced
            )
        except (Missing, Outdated):
            self._forget(action.resource, job.namespace, action.name)
        self._gone(job, action.resource, [(action.name, action.uid)], is_immediate=action.is_forced)

    async def _delete_all(self, job: PaddleJob, action: DeleteAll) -> None:
        await self._writer.delete_all(action.resource, job.namespace, dict(action.labels))
        self._gone(job, action.resource, action.found, is_immediate=False)

    def _gone(
        self, job: PaddleJob, resource: Resource, found: Sequence[tuple[str, str]], *, is_immediate: bool
    ) -> None:
        """Pods and jobs take a while to go. Everything else goes at once."""
        self._forget_old_deletions()
        for name, uid in found:
            if resource in (PODS, PADDLE_JOBS) and not is_immediate:
                self._deleted.pop(uid, None)
                self._deleted[uid] = self._clock()
            else:
                self._forget(resource, job.namespace, name)

    def _forget_old_deletions(self) -> None:
        """The oldest come first."""
        while self._deleted and not self.is_deleted(oldest := next(iter(self._deleted))):
            del self._deleted[oldest]

    def _remember(self, resource: Resource, made: dict[str, object]) -> None:
        cache = self._caches.of(resource)
        if cache is not None:
            cache.remember(made)

    def _forget(self, resource: Resource, namespace: str, name: str) -> None:
        cache = self._caches.of(resource)
        if cache is not None and resource is not PADDLE_JOBS:
            cache.forget((namespace, name))
