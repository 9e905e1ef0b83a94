"""The status of a job: counts of its pods, and which changes of it are worth a write at once."""

from collections.abc import Collection, Mapping
from typing import Any

from muster.kubernetes.resources import JOB_UID, RES_TYPE, selector
from muster.operator.job.paddle_job import ROLES, PaddleJob, RoleSpec
from muster.operator.job.phases import Phase
from muster.operator.job.pod_states import PodState, PodView

Status = dict[str, Any]
_COUNTED = (*ROLES, "elastic")
_MOST_REFS = 200
"""The status of a job with thousands of pods names only the first: an object must not grow beyond a megabyte."""
_EARLY = (Phase.PENDING, Phase.STARTING)


def counts(job: PaddleJob, pods: Collection[PodView]) -> Status:
    """The part of the status that counts pods, for each role."""
    found: Status = {role.name: _role_counts(job, role, pods) for role in job.roles}
    if job.is_elastic:
        is_full = all(found[role.name]["running"] == role.replicas for role in job.roles)
        found["elastic"] = "DONE" if is_full else "DOING"
    return found


def _role_counts(job: PaddleJob, role: RoleSpec, pods: Collection[PodView]) -> Status:
    own = sorted((pod for pod in pods if pod.role == role.name), key=lambda pod: pod.index)
    amounts = {state.value: sum(pod.state is state for pod in own) for state in PodState}
    return {
        **amounts,
        "replicas": len(own),
        "ready": f"{amounts[PodState.RUNNING]}/{role.replicas}",
        "selector": selector({JOB_UID: job.uid, RES_TYPE: role.name}),
        "refs": [
            {"apiVersion": "v1", "kind": "Pod", "namespace": job.namespace, "name": pod.name, "uid": pod.uid}
            for pod in own[:_MOST_REFS]
        ],
    }


def wanted_before(job: PaddleJob, role: str) -> int | None:
    """How many pods the role was to have when the status was last written."""
    counted = job.status.get(role)
    wanted = str(counted.get("ready", "")).partition("/")[2] if isinstance(counted, Mapping) else ""
    return int(wanted) if wanted.isdigit() else None


def is_urgent(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether more changed than counts, or how far the start has come. Those are written at leisure, so that a job of
    many pods costs no more writes than one of few."""
    return _essence(before) != _essence(after)


def _essence(status: Mapping[str, Any]) -> dict[str, Any]:
    essence = {key: value for key, value in status.items() if key not in _COUNTED}
    if essence.get("phase") in _EARLY:
        essence["phase"] = Phase.PENDING
    return essence


def status_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch from one status to the other: what differs, and null for what is gone."""
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return {**changed, **{key: None for key in before if key not in after}}
