"""PaddleJobs that this server has not made: somebody's kubectl, or another server. They are watched and shown."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from muster.backends.kubernetes.capacity import extended_amounts
from muster.backends.kubernetes.names import SERVER
from muster.backends.kubernetes.options import KubernetesOptions
from muster.backends.kubernetes.paddle_jobs import ROLES
from muster.domain.errors import MusterError
from muster.domain.resources import Resources
from muster.domain.specs import PS_ROLE, WORKER_ROLE, Framework, Mode
from muster.kubernetes.amounts import pod_requests, total
from muster.kubernetes.connection import Connection
from muster.kubernetes.resources import JOB_NAME, PADDLE_JOBS, Object, key_of, labels_of
from muster.kubernetes.times import instant
from muster.kubernetes.watched import Watched
from muster.ports.foreign_jobs import ForeignJob, ForeignRole

_LOOK_FOR_RESOURCE_S = 60.0
_STATES = {
    "Pending": "Queued",
    "Starting": "Starting",
    "Restarting": "Starting",
    "Running": "Running",
    "Suspended": "Held",
    "Completing": "Stopping",
    "Terminating": "Stopping",
    "Aborting": "Stopping",
    "Completed": "Succeeded",
    "Succeed": "Succeeded",
    "Failed": "Failed",
    "Terminated": "Cancelled",
    "Aborted": "Cancelled",
}
"""The state for each phase of this operator and of paddle-operator. A job without a phase has not been looked at."""
_SPEAKING = ("Queued", "Held", "Starting", "Failed")
"""The states for which the conditions have an explanation."""


class ForeignPaddleJobs:
    """Implements `ports.foreign_jobs.ForeignJobs`."""

    origin = "kubernetes"

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._own = labels[SERVER]
        self._caches: tuple[Watched, ...] = ()
        self._problem = ""

    def jobs(self) -> Sequence[ForeignJob]:
        return [one["job"] for cache in self._caches for one in cache]

    def unknown_why(self) -> str:
        return self._problem or next((cache.problem for cache in self._caches if cache.problem), "")

    async def run(self, connection: Connection, options: KubernetesOptions) -> None:
        """Watch for ever. The definition of PaddleJob may be installed at any time."""
        self._caches = ()
        while True:
            if await self._has_resource(connection):
                break
            await asyncio.sleep(_LOOK_FOR_RESOURCE_S)

        def lean(job: dict[str, Any]) -> Object:
            kept = {key: job["metadata"].get(key) for key in ("namespace", "name", "resourceVersion")}
            return {"metadata": kept, "job": read_foreign_job(job, options)}

        # Those of this server are left out by the API server itself.
        labels = f"{SERVER}!={self._own}"
        self._caches = tuple(
            Watched(connection, PADDLE_JOBS, namespace=one, labels=labels, prune=lean)
            for one in options.foreign_namespaces or (None,)
        )
        async with asyncio.TaskGroup() as group:
            for cache in self._caches:
                group.create_task(cache.run())

    async def _has_resource(self, connection: Connection) -> bool:
        try:
            found = await connection.offers(PADDLE_JOBS)
        except MusterError as error:
            self._problem = error.message
            return False
        self._problem = "" if found else "the cluster has no PaddleJobs: their definition is not installed"
        return found


def read_foreign_job(one: Mapping[str, Any], options: KubernetesOptions) -> ForeignJob:
    """Reads a PaddleJob tolerantly: an old definition of the resource may have let anything through."""
    metadata, spec, status = one["metadata"], _mapping(one.get("spec")), _mapping(one.get("status"))
    namespace, name = key_of(one)
    given = [(role, _mapping(spec[role])) for role in ROLES if isinstance(spec.get(role), Mapping)]
    roles = tuple(_role(role, told, _mapping(status.get(role))) for role, told in given)
    state = _STATES.get(str(status.get("phase") or ""), "Queued")
    if metadata.get("deletionTimestamp"):
        state = "Stopping"
    is_muster = SERVER in labels_of(one)
    return ForeignJob(
        space=namespace,
        name=name,
        state=state,
        mode=_mode(roles),
        framework=str(Framework.PADDLE),
        roles=roles,
        resources=_resources([(_template(told), _whole(told.get("replicas"))) for _, told in given], options),
        created_at=instant(metadata.get("creationTimestamp")) or 0.0,
        started_at=instant(status.get("startTime")),
        ended_at=instant(status.get("completionTime")),
        restarts=_whole(status.get("restarts")),
        reason=_reason(status) if state in _SPEAKING else "",
        labels=dict(labels_of(one)),
        made_with="another Muster server" if is_muster else "kubectl",
        change_with=f"kubectl --namespace {namespace} edit paddlejob {name}",
        read_with=f"kubectl --namespace {namespace} logs --prefix --selector {JOB_NAME}={name}",
    )


def _role(name: str, asked: Mapping[str, Any], counted: Mapping[str, Any]) -> ForeignRole:
    return ForeignRole(
        name,
        _whole(asked.get("replicas")),
        active=_whole(counted.get("starting")) + _whole(counted.get("running")),
        succeeded=_whole(counted.get("succeeded")),
        failed=_whole(counted.get("failed")),
    )


def _mode(roles: Sequence[ForeignRole]) -> Mode:
    replicas = {role.name: role.replicas for role in roles}
    if PS_ROLE in replicas:
        return Mode.PS
    return Mode.COLLECTIVE if replicas.get(WORKER_ROLE, 0) > 1 else Mode.SINGLE


def _resources(parts: Sequence[tuple[Mapping[str, Any], int]], options: KubernetesOptions) -> Resources:
    needed = total(
        {name: amount * replicas for name, amount in pod_requests(template).items()} for template, replicas in parts
    )
    gpus = sum(needed.get(name, 0) for name in options.gpu_resources)
    extended = extended_amounts({name: amount // 1000 for name, amount in needed.items()}, options)
    return Resources(
        needed.get("cpu", 0), needed.get("memory", 0) // 1000, gpus // 1000, extended=tuple(sorted(extended.items()))
    )


def _reason(status: Mapping[str, Any]) -> str:
    """The condition that changed last and says something."""
    conditions = status.get("conditions")
    told = [one for one in conditions if isinstance(one, Mapping)] if isinstance(conditions, list) else []
    speaking = [one for one in told if one.get("message")]
    newest = max(speaking, key=lambda one: str(one.get("lastTransitionTime") or ""), default={})
    return " ".join(str(newest.get("message") or "").split())


def _template(role: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(_mapping(role.get("template")).get("spec"))


def _mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _whole(given: object) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else 0
