"""Turns the state of a pod into an observation of its task."""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.backends.kubernetes.names import GANG, TASK
from muster.domain.failures.container_failures import IMAGE, image_failure
from muster.kubernetes.resources import RES_TYPE
from muster.kubernetes.times import instant
from muster.ports.backend import Observation, Phase

MAIN, INIT, KEEPER = "task", "prepare", "outputs"
"""The names of the container of the task, of the one that prepares it, and of the one that keeps its outputs."""
FETCH_FAILED, UNFIT_IMAGE, PACKAGE_BROKEN = 91, 92, 93
"""The exit codes of the preparing step: no answer from the server, no program to fetch with, and a wrong archive."""
_STEP_ERRORS = {FETCH_FAILED: "fetch", UNFIT_IMAGE: "rejected", PACKAGE_BROKEN: "package"}
_NEVER = {
    "InvalidImageName": IMAGE,
    "ErrImageNeverPull": IMAGE,
    "CreateContainerConfigError": "bad-request",
}
"""Reasons of a waiting container that no amount of waiting removes."""
_BACK_OFF = "ImagePullBackOff"
_PULL_ERRORS = (_BACK_OFF, "ErrImagePull")
_LARGEST_SIGNAL = 64


def task_of(pod: Mapping[str, Any]) -> str:
    """The task of the pod. The operator's pods of a role have the same labels; their names tell them apart."""
    labels = pod["metadata"].get("labels") or {}
    if TASK in labels:
        return str(labels[TASK])
    index = str(pod["metadata"]["name"]).rpartition("-")[2]
    gang, role = labels.get(GANG, ""), labels.get(RES_TYPE, "")
    return f"{gang}.{role}.{index}" if gang and role and index.isdigit() else ""


def handle_of(pod: Mapping[str, Any]) -> str:
    return handle(str(pod["metadata"].get("namespace", "")), str(pod["metadata"]["name"]))


def handle(namespace: str, name: str) -> str:
    """The text by which Muster finds a pod again."""
    return f"{namespace}/{name}"


def is_leaving(pod: Mapping[str, Any]) -> bool:
    """Whether somebody has deleted the pod, which may still run."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def disruption(pod: Mapping[str, Any]) -> str:
    """Why Kubernetes itself takes the pod away, in its own words; empty if it does not."""
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return _words(condition.get("reason"), condition.get("message"))
    return ""


def observed(pod: Mapping[str, Any], *, ordered: bool = False, lost_node: str = "") -> Observation:
    """`ordered` says that Muster has stopped the task, `lost_node` why its node counts as lost."""
    found = _observed(pod, ordered)
    if lost_node and found.phase is not Phase.ENDED:
        return Observation(found.task_id, Phase.LOST, found.handle, found.node, error_message=lost_node)
    return found


def _observed(pod: Mapping[str, Any], ordered: bool) -> Observation:
    status, node = pod.get("status") or {}, pod["spec"].get("nodeName")
    task, own = task_of(pod), handle_of(pod)
    main = _status(status.get("containerStatuses"), MAIN)
    state = main.get("state") or {}
    if ended := state.get("terminated") or _unknown_end(status, main):
        return _ended(pod, task, own, node, ended, ordered=ordered)
    if "running" in state:
        started_at = instant(state["running"].get("startedAt"))
        return Observation(task, Phase.RUNNING, own, node, started_at=started_at)
    if status.get("phase") in ("Failed", "Succeeded"):
        return _never_ran(pod, task, own, node)
    if broken := _broken(status):
        return Observation(task, Phase.ENDED, own, node, error_code=broken[0], error_message=broken[1])
    return Observation(task, Phase.WAITING, own, wait_reason=_wait_reason(status, node))


def _unknown_end(status: Mapping[str, Any], main: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The pod has failed, and its node does not know how the container ended that had been running."""
    was_running = (main.get("lastState") or {}).get("terminated")
    return was_running if status.get("phase") == "Failed" and was_running else None


def _ended(
    pod: Mapping[str, Any], task: str, own: str, node: str | None, ended: Mapping[str, Any], *, ordered: bool
) -> Observation:
    status = pod["status"]
    exit_code = ended.get("exitCode")
    started_at, ended_at = instant(ended.get("startedAt")), instant(ended.get("finishedAt"))
    if not started_at:  # the container could not be started at all
        words = _words(ended.get("reason"), ended.get("message"))
        return Observation(task, Phase.ENDED, own, node, error_code="bad-request", error_message=words)
    taken = _taken(pod) if not ordered and exit_code != 0 else ""
    if taken:
        return Observation(task, Phase.LOST, own, node, started_at, ended_at, error_message=taken)
    return Observation(
        task,
        Phase.ENDED,
        own,
        node,
        started_at=started_at,
        ended_at=max(ended_at or 0.0, started_at),
        exit_code=exit_code,
        signal=_signal(exit_code, ended.get("signal")),
        oom=ended.get("reason") == "OOMKilled" and status.get("reason") != "Evicted",
        stopped=ordered,
    )


def _taken(pod: Mapping[str, Any]) -> str:
    """Who ended the pod, if it was neither the task itself nor Muster; empty if nobody did."""
    status = pod["status"]
    if words := disruption(pod):
        return f"Kubernetes took its pod away: {words}"
    if status.get("reason"):  # such as Evicted or NodeShutdown
        return f"Kubernetes ended its pod: {_words(status['reason'], status.get('message'))}"
    return "its pod was deleted in Kubernetes" if is_leaving(pod) else ""


def _never_ran(pod: Mapping[str, Any], task: str, own: str, node: str | None) -> Observation:
    status = pod["status"]
    step = (_status(status.get("initContainerStatuses"), INIT).get("state") or {}).get("terminated") or {}
    if step.get("exitCode"):
        code = _STEP_ERRORS.get(step["exitCode"], "prepare")
        words = str(step.get("message") or "").strip() or _words(step.get("reason"), f"exit code {step['exitCode']}")
        return Observation(task, Phase.ENDED, own, node, error_code=code, error_message=words)
    words = disruption(pod) or _words(status.get("reason"), status.get("message"))
    if disruption(pod) or is_leaving(pod) or status.get("reason") == "Evicted":
        return Observation(task, Phase.LOST, own, node, error_message=f"Kubernetes ended its pod: {words}")
    return Observation(task, Phase.ENDED, own, node, error_code="not-admitted", error_message=words)


def _broken(status: Mapping[str, Any]) -> tuple[str, str] | None:
    """Why a container of the pod will never start; None while it may."""
    for waiting in _waiting(status):
        reason, message = waiting.get("reason"), str(waiting.get("message") or "")
        if reason in _NEVER:
            return _NEVER[reason], _words(reason, message)
        if reason == _BACK_OFF and (error := image_failure(message)):
            return error, _words(reason, message)
    return None


def pull_error(pod: Mapping[str, Any]) -> str:
    """Why an image of the pod has not been pulled so far, in the words of its node; empty if nothing has failed."""
    for waiting in _waiting(pod.get("status") or {}):
        if waiting.get("reason") in _PULL_ERRORS:
            return _words(waiting["reason"], waiting.get("message"))
    return ""


def _wait_reason(status: Mapping[str, Any], node: str | None) -> str:
    if not node:
        for condition in status.get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                return _words("", condition.get("message") or condition.get("reason"))
        return "waiting for the scheduler of Kubernetes"
    for waiting in _waiting(status):
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f"on {node}: {_words(waiting.get('reason'), waiting.get('message'))}"
    step = _status(status.get("initContainerStatuses"), INIT).get("state") or {}
    return f"on {node}: preparing the task" if "running" in step else f"on {node}: creating the container"


def _waiting(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(key) or ():
            if waiting := (one.get("state") or {}).get("waiting"):
                yield waiting


def _status(statuses: Any, name: str) -> Mapping[str, Any]:
    return next((one for one in statuses or () if one.get("name") == name), {})


def _signal(exit_code: int | None, number: int | None) -> int | None:
    """Container runtimes report a signal as a shell does, by 128 plus its number."""
    if number:
        return number
    return exit_code - 128 if exit_code is not None and 128 < exit_code <= 128 + _LARGEST_SIGNAL else None


def _words(reason: object, message: object) -> str:
    parts = [" ".join(str(part).split()) for part in (reason, message) if part]
    return ": ".join(parts) or "no reason was given"
