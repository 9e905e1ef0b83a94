"""Pods as the operator sees them: which replica, in which state, with which address."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from muster.kubernetes.resources import ATTEMPT, RES_TYPE, Object, annotations_of, key_of, labels_of, owner_of, uid_of
from muster.kubernetes.times import instant
from muster.operator.job.environment import PEERS

_KEPT_LABELS = (RES_TYPE, ATTEMPT)
_BAD_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_BAD_CONFIG = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_MANY_RESTARTS = 2


class PodState(StrEnum):
    """The words are those of the counts in the status."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @property
    def has_ended(self) -> bool:
        return self in (PodState.SUCCEEDED, PodState.FAILED)


@dataclass(frozen=True, slots=True)
class PodView:
    name: str
    uid: str
    role: str
    index: int
    attempt: int
    state: PodState
    address: str = ""
    peers: str = ""
    """The digest of the variables in its annotations; empty while its container waits for them."""
    created_at: float = 0.0
    leaves_at: float | None = None
    """When the node has to have stopped it; None if nobody deleted it."""
    failure: str = ""
    """Why it failed, for people."""
    trouble: str = ""
    """Why its containers do not start, or not for long, for people."""
    gates: tuple[str, ...] = ()
    """What keeps the scheduler from it."""

    @property
    def is_leaving(self) -> bool:
        return self.leaves_at is not None


def read_pod(raw: Object) -> PodView | None:
    """Returns None if the labels or the name are not those that the operator gives."""
    labels, (_, name) = labels_of(raw), key_of(raw)
    index, attempt = name.rpartition("-")[2], labels.get(ATTEMPT, "")
    if RES_TYPE not in labels or not (index.isdigit() and attempt.isdigit()):
        return None
    metadata, status = raw["metadata"], raw.get("status") or {}
    state = pod_state(raw)
    return PodView(
        name=name,
        uid=uid_of(raw),
        role=labels[RES_TYPE],
        index=int(index),
        attempt=int(attempt),
        state=state,
        address=str(status.get("podIP") or ""),
        peers=annotations_of(raw).get(PEERS, ""),
        created_at=instant(metadata.get("creationTimestamp")) or 0.0,
        leaves_at=instant(metadata.get("deletionTimestamp")),
        failure=_failure(raw) if state is PodState.FAILED else "",
        trouble="" if state.has_ended else _trouble(status),
        gates=tuple(str(gate.get("name")) for gate in (raw.get("spec") or {}).get("schedulingGates") or ()),
    )


def pod_state(raw: Object) -> PodState:
    status = raw.get("status") or {}
    ended = _main_exit(raw)
    match status.get("phase"):
        case "Succeeded":
            return PodState.SUCCEEDED
        case "Failed":
            return PodState.FAILED
        case "Running" if ended is not None:
            return ended
        case "Running":
            return PodState.RUNNING if _is_ready(status) else PodState.STARTING
        case _:
            return PodState.STARTING if _init_runs(status) else PodState.PENDING


def prune_pod(raw: dict[str, Any]) -> Object:
    """What `read_pod` reads. A whole pod takes ten times as much memory."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    owner_name, owner = owner_of(raw)
    kept: dict[str, Any] = {
        "metadata": {
            "namespace": metadata.get("namespace"),
            "name": metadata["name"],
            "uid": metadata.get("uid"),
            "resourceVersion": metadata.get("resourceVersion"),
            "creationTimestamp": metadata.get("creationTimestamp"),
            "labels": {name: labels[name] for name in _KEPT_LABELS if name in labels},
            "ownerReferences": [{"name": owner_name, "uid": owner, "controller": True}] if owner else [],
        },
        "spec": {
            "restartPolicy": spec.get("restartPolicy"),
            "containers": [{"name": one.get("name")} for one in (spec.get("containers") or [])[:1]],
        },
        "status": {"phase": status.get("phase"), "podIP": status.get("podIP")},
    }
    if "deletionTimestamp" in metadata:
        kept["metadata"]["deletionTimestamp"] = metadata["deletionTimestamp"]
    if PEERS in annotations:
        kept["metadata"]["annotations"] = {PEERS: annotations[PEERS]}
    if spec.get("schedulingGates"):
        kept["spec"]["schedulingGates"] = spec["schedulingGates"]
    for key in ("reason", "message"):
        if status.get(key):
            kept["status"][key] = str(status[key])[:300]
    for key in ("initContainerStatuses", "containerStatuses"):
        if status.get(key):
            kept["status"][key] = [_pruned_container(one) for one in status[key]]
    return kept


def _pruned_container(status: Mapping[str, Any]) -> dict[str, Any]:
    state = {kind: _pruned_state(kind, detail) for kind, detail in (status.get("state") or {}).items()}
    kept = {"name": status.get("name"), "ready": bool(status.get("ready")), "state": state}
    if "waiting" in state:
        kept["image"] = status.get("image")
    if (status.get("restartCount") or 0) >= _MANY_RESTARTS:
        last = (status.get("lastState") or {}).get("terminated") or {}
        kept |= {"restartCount": _MANY_RESTARTS, "lastExit": last.get("exitCode")}
    return kept


def _pruned_state(kind: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: detail[key] for key in ("exitCode", "reason", "signal") if detail.get(key) is not None}
    if kind == "waiting" and detail.get("reason") in _BAD_CONFIG:
        kept["message"] = str(detail.get("message") or "")[:300]
    return kept


def _main_exit(raw: Object) -> PodState | None:
    """How the main container ended, if it did and stays so. Others, such as the proxy of a service mesh, may run on for
    ever, and the pod with them."""
    policy = (raw.get("spec") or {}).get("restartPolicy")
    code = (_main_status(raw).get("state") or {}).get("terminated", {}).get("exitCode")
    if code is None or policy not in ("Never", "OnFailure"):
        return None
    if code == 0:
        return PodState.SUCCEEDED
    return PodState.FAILED if policy == "Never" else None


def _main_status(raw: Object) -> Mapping[str, Any]:
    containers = (raw.get("spec") or {}).get("containers") or [{}]
    statuses = (raw.get("status") or {}).get("containerStatuses") or ()
    return next((one for one in statuses if one.get("name") == containers[0].get("name")), {})


def _is_ready(status: Mapping[str, Any]) -> bool:
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return bool(statuses) and all(one.get("ready") for one in statuses)


def _init_runs(status: Mapping[str, Any]) -> bool:
    return any("running" in (one.get("state") or {}) for one in status.get("initContainerStatuses") or ())


def _trouble(status: Mapping[str, Any]) -> str:
    """The words stay the same while it lasts: the kubelet's own change with every attempt."""
    for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _BAD_IMAGE:
            return f"the image {one.get('image')} of container {one.get('name')} cannot be pulled"
        if waiting.get("reason") in _BAD_CONFIG:
            return f"container {one.get('name')} cannot be created: {waiting.get('message')}"
        if one.get("lastExit"):
            return f"container {one.get('name')} exited with code {one['lastExit']} and is restarted again and again"
    return ""


def _failure(raw: Object) -> str:
    status = raw.get("status") or {}
    for one in [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]:
        ended = (one.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            reason = f" ({ended['reason']})" if ended.get("reason") not in (None, "Error") else ""
            return f"container {one.get('name')} exited with code {ended['exitCode']}{reason}"
    words = ": ".join(str(status[key]) for key in ("reason", "message") if status.get(key))
    return words or "the pod failed"
