"""The gang guard at work: it watches nodes and all pods, and releases jobs when there is room.

It needs the right to read nodes and the pods of all namespaces. Without it (the operator was installed for one
namespace) it is off: pods are created at once, and whatever the scheduler does with them happens.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import structlog

from muster.domain.errors import Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied
from muster.kubernetes.pod_groups import DEFAULT_SCHEDULER
from muster.kubernetes.resources import JOB_UID, NODES, PODS, Key, Object, Resource, key_of
from muster.kubernetes.times import instant
from muster.kubernetes.watched import Change, Watched
from muster.lib.clock import Clock
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.phases import Phase, phase_of
from muster.operator.job.pod_states import prune_pod
from muster.operator.job.world import World
from muster.operator.scheduling import gates, volcano
from muster.operator.scheduling.gangs import gang_of, is_over, scheduler_names
from muster.operator.scheduling.guard import Guard
from muster.operator.scheduling.nodes import read_node
from muster.operator.scheduling.room import Room, footprint
from muster.operator.scheduling.verdict import Verdict

_log = structlog.get_logger("operator.guard")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", is_namespaced=False)
_FOOTPRINT = "footprint"
_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"
_SWEEP_S = 0.1
"""Changes that come together are looked at together."""
_RETRY_S = 2.0


class GuardedScheduling:
    def __init__(self, connection: Connection, namespace: str | None, clock: Clock, take_back_s: float) -> None:
        self._connection, self._namespace, self._clock = connection, namespace, clock
        self._room = Room()
        self._guard = Guard(self._room, take_back_s=take_back_s)
        self._priorities: dict[str, int] = {}
        self._is_on, self._has_gates = True, True
        self._changed = asyncio.Event()

    def prune_pod(self, raw: dict[str, Any]) -> Object:
        return {**prune_pod(raw), _FOOTPRINT: footprint(raw)}

    def pod_changed(self, change: Change) -> None:
        found = change.after.get(_FOOTPRINT) if change.after is not None else None
        self._room.put_pod(key_of(change.object), found)
        self._changed.set()

    def job_gone(self, uid: str) -> None:
        self._guard.forget(uid)
        self._changed.set()

    def cache_of(self, resource: Resource) -> Watched | None:
        return None

    def schedule(self, job: PaddleJob, world: World) -> Verdict:
        if not self._is_on or is_over(job):
            self._guard.forget(job.uid)
            return Verdict()
        if volcano.names_volcano(job):
            return volcano.with_user_group(job)
        if not scheduler_names(job) <= {DEFAULT_SCHEDULER}:
            return Verdict()
        pods = gates.current_pods(job, world)
        if not pods and world.pods:  # the pods of an earlier start have to go first
            paused = self._guard.paused(job.uid, self._clock())
            return replace(gates.verdict(paused, job, world, has_gates=self._has_gates), may_create=False)
        if not pods and (world.is_held or self._is_pausing(job)):
            self._guard.withdraw(job.uid)
            return Verdict()
        gang = gang_of(
            job,
            self._priorities,
            has_started=phase_of(job) is Phase.RUNNING,
            refused_at=max(pod.created_at for pod in pods) if pods and world.refusal else None,
        )
        hold = self._guard.hold(gang, self._clock())
        self._changed.set()
        return gates.verdict(hold, job, world, has_gates=self._has_gates)

    async def start(self, tasks: asyncio.TaskGroup, wake: Callable[[Key], None]) -> None:
        """The guard is only asked when it knows all nodes and pods."""
        self._has_gates = await self._version() >= gates.FIRST_WITH_GATES
        off = "the gang guard is off: it needs the right to list nodes and the pods of all namespaces"
        self._is_on = await self._may_list(NODES, off) and await self._may_list(PODS, off)
        if not self._is_on:
            return
        caches = [self._nodes(), self._other_pods()]
        if await self._may_list(PRIORITY_CLASSES, "the gang guard knows no priorities of jobs"):
            caches.append(self._priority_classes())
        for cache in caches:
            tasks.create_task(cache.run())
        for cache in caches:
            await cache.synced.wait()
        tasks.create_task(self._sweep(wake))

    def _is_pausing(self, job: PaddleJob) -> bool:
        at = instant(job.status.get("restartTime"))
        return at is not None and self._clock() < at

    async def _sweep(self, wake: Callable[[Key], None]) -> NoReturn:
        while True:
            due = self._guard.due_at()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due is None else max(0.0, due - self._clock())):
                    await self._changed.wait()
            await asyncio.sleep(_SWEEP_S)
            self._changed.clear()
            due = self._guard.due_at()
            if due is not None and due <= self._clock():
                for key in self._guard.sweep(self._clock()):
                    wake(key)

    def _nodes(self) -> Watched:
        def changed(change: Change) -> None:
            if change.after is None:
                self._room.remove_node(key_of(change.object)[1])
            else:
                self._room.put_node(read_node(change.after))
            self._changed.set()

        return Watched(self._connection, NODES, prune=_prune_node, changed=changed)

    def _other_pods(self) -> Watched:
        """The pods of others. Those of jobs in namespaces that another operator serves are among them."""
        labels = "" if self._namespace else f"!{JOB_UID}"
        return Watched(
            self._connection, PODS, labels=labels, fields=_NOT_ENDED, prune=_prune_other, changed=self.pod_changed
        )

    def _priority_classes(self) -> Watched:
        def changed(change: Change) -> None:
            name = key_of(change.object)[1]
            value = change.object.get("value")
            self._priorities.pop(name, None)
            if change.after is not None and isinstance(value, int):
                self._priorities[name] = value
                if change.after.get("globalDefault"):
                    self._priorities[""] = value

        return Watched(self._connection, PRIORITY_CLASSES, prune=_prune_class, changed=changed)

    async def _version(self) -> tuple[int, int]:
        found = await self._answer("/version")
        return _number(found.get("major")), _number(found.get("minor"))

    async def _may_list(self, resource: Resource, otherwise: str) -> bool:
        """`otherwise` is logged with the right that is missing."""
        try:
            await self._answer(resource.path())
        except Denied as error:
            _log.warning(otherwise, error=error.message)
            return False
        return True

    async def _answer(self, path: str) -> Mapping[str, Any]:
        """The answer, however long it takes until the API server gives one."""
        while True:
            try:
                return dict(await self._connection.request("GET", path, params={"limit": "1"}))
            except Unreachable as error:
                _log.warning("the API server does not answer yet", error=error.message)
                await asyncio.sleep(_RETRY_S)


def _number(given: object) -> int:
    """Providers write versions such as `27+`."""
    digits = re.match(r"\d+", str(given))
    return int(digits[0]) if digits else 0


def _prune_node(raw: dict[str, Any]) -> Object:
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    return {
        "metadata": {key: metadata.get(key) for key in ("name", "labels", "resourceVersion")},
        "spec": {key: spec[key] for key in ("taints", "unschedulable") if key in spec},
        "status": {"allocatable": (raw.get("status") or {}).get("allocatable")},
    }


def _prune_other(raw: dict[str, Any]) -> Object:
    metadata = {key: raw["metadata"].get(key) for key in ("namespace", "name", "resourceVersion")}
    return {"metadata": metadata, _FOOTPRINT: footprint(raw)}


def _prune_class(raw: dict[str, Any]) -> Object:
    metadata = {key: raw["metadata"].get(key) for key in ("name", "resourceVersion")}
    return {"metadata": metadata, "value": raw.get("value"), "globalDefault": raw.get("globalDefault")}
