"""The caches of the operator: jobs, and of their pods, services and ConfigMaps what the core reads."""

from collections.abc import Callable
from typing import Any

from muster.kubernetes.connection import Connection
from muster.kubernetes.resources import (
    CONFIG_MAPS,
    JOB_UID,
    PADDLE_JOBS,
    PODS,
    SERVICES,
    Key,
    Object,
    Resource,
    key_of,
    owner_of,
    owner_uid,
    uid_of,
)
from muster.kubernetes.watched import Change, Watched
from muster.operator.control.gang_scheduling import GangScheduling
from muster.operator.job.pod_states import pod_state

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Caches:
    """`changed` is called with the key of the job that a change concerns, and `pod_left` with the namespace of a pod
    that ended or is gone."""

    def __init__(
        self,
        connection: Connection,
        namespace: str | None,
        changed: Callable[[Key], None],
        pod_left: Callable[[str], None],
        scheduling: GangScheduling,
    ) -> None:
        def job_changed(change: Change) -> None:
            if change.before is not None and (change.after is None or uid_of(change.after) != uid_of(change.before)):
                scheduling.job_gone(uid_of(change.before))
            changed(key_of(change.object))

        def pod_changed(change: Change) -> None:
            scheduling.pod_changed(change)
            part_changed(change)
            if change.after is None or (pod_state(change.after).has_ended and not _had_ended(change.before)):
                pod_left(key_of(change.object)[0])

        def part_changed(change: Change) -> None:
            name, _ = owner_of(change.object)
            if name:
                changed((key_of(change.object)[0], name))

        def parts(
            resource: Resource,
            prune: Callable[[dict[str, Any]], Object],
            changed: Callable[[Change], None] = part_changed,
        ) -> Watched:
            return Watched(
                connection,
                resource,
                namespace=namespace,
                labels=JOB_UID,
                prune=prune,
                group=owner_uid,
                changed=changed,
            )

        self.jobs = Watched(connection, PADDLE_JOBS, namespace=namespace, prune=prune_job, changed=job_changed)
        self.pods = parts(PODS, scheduling.prune_pod, pod_changed)
        self.services = parts(SERVICES, _prune_part)
        self.config_maps = parts(CONFIG_MAPS, _prune_part)
        self._scheduling = scheduling

    @property
    def all(self) -> tuple[Watched, ...]:
        return self.jobs, self.pods, self.services, self.config_maps

    def of(self, resource: Resource) -> Watched | None:
        known = {PADDLE_JOBS: self.jobs, PODS: self.pods, SERVICES: self.services, CONFIG_MAPS: self.config_maps}
        return known[resource] if resource in known else self._scheduling.cache_of(resource)

    def is_for_users(self, resource: Resource) -> bool:
        """Whether users may make objects of this kind for their jobs."""
        return self._scheduling.cache_of(resource) is not None


def _had_ended(pod: Object | None) -> bool:
    return pod is not None and pod_state(pod).has_ended


def prune_job(raw: dict[str, Any]) -> Object:
    """A job without what only the API server and kubectl need."""
    metadata = {key: value for key, value in raw["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations") or {}
    if _LAST_APPLIED in annotations:
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    return {**raw, "metadata": metadata}


def _prune_part(raw: dict[str, Any]) -> Object:
    metadata = raw["metadata"]
    kept = ("namespace", "name", "uid", "resourceVersion", "ownerReferences", "annotations", "deletionTimestamp")
    pruned: dict[str, Any] = {"metadata": {key: metadata[key] for key in kept if key in metadata}}
    if raw.get("data"):
        pruned["data"] = raw["data"]
    return pruned
