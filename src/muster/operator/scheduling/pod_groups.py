"""What the PodGroups of Volcano and of Kubernetes have in common: a group of the job's name, which the operator makes,
brings up to date and deletes, unless a user made it."""

from collections.abc import Mapping
from typing import Any

from muster.kubernetes.resources import (
    JOB_NAME,
    JOB_UID,
    PADDLE_JOBS,
    Object,
    Resource,
    owner_reference,
    owner_uid,
    uid_of,
)
from muster.operator.job.actions import Action, Create, Delete
from muster.operator.job.paddle_job import PaddleJob


def manifest(job: PaddleJob, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": {JOB_NAME: job.name, JOB_UID: job.uid},
            "ownerReferences": [owner_reference(job.raw, PADDLE_JOBS)],
        },
        "spec": dict(spec),
    }


def is_own(job: PaddleJob, group: Object) -> bool:
    return owner_uid(group) == job.uid


def is_leaving(group: Object) -> bool:
    return "deletionTimestamp" in group["metadata"]


def creation(resource: Resource, job: PaddleJob, spec: Mapping[str, Any]) -> tuple[Action, ...]:
    return (Create(resource, manifest(job, spec)),)


def removal(resource: Resource, job: PaddleJob, group: Object | None) -> tuple[Action, ...]:
    """What deletes the group of a job that has ended or is suspended. A group that a user made stays."""
    if group is None or is_leaving(group) or not is_own(job, group):
        return ()
    return (Delete(resource, job.name, uid_of(group)),)


def changes(job: PaddleJob, group: Object, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What is different in the group. A group that a user made is right as it is."""
    before = group.get("spec") or {}
    if not is_own(job, group):
        return {}
    return {key: value for key, value in spec.items() if before.get(key) != value}
