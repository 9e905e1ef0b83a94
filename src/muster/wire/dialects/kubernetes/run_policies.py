"""Policies that the controllers of Kubernetes have in common: when to clean up, how long to run, how often to retry."""

from collections.abc import Sequence
from typing import Any

from muster.domain.specs import Priority
from muster.wire.dialects.kubernetes.kube_metadata import dropped, unknown_keys
from muster.wire.dialects.kubernetes.pods import PodRole
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_RUN_POLICY = (
    *("cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"),
    *("schedulingPolicy", "suspend", "managedBy"),
)
_SCHEDULING = ("minAvailable", "queue", "priorityClass", "minResources", "scheduleTimeoutSeconds")
_RESTARTING = ("OnFailure", "Always", "ExitCode")
MOST_RETRIES = 100


def run_policy(into: Translator, given: Any, at: Path, tasks: int) -> None:
    """The `runPolicy` of Kubeflow's jobs."""
    policy = into.mapping(given, at)
    unknown_keys(into, policy, at, _RUN_POLICY)
    for key, value in policy.items():
        source = (*at, key)
        match key:
            case _ if value is None:
                pass
            case "cleanPodPolicy" | "ttlSecondsAfterFinished":
                into.warn(source, "has no effect: Muster keeps no pods", "records and logs of ended tasks are kept")
            case "activeDeadlineSeconds":
                time_limit(into, value, source)
            case "backoffLimit":
                retries(into, value, source)
            case "suspend":
                into.put(("hold",), value, source)
            case "managedBy":
                into.warn(source, "has no effect: Muster runs the job itself")
            case "schedulingPolicy":
                scheduling(into, value, source, tasks)


def scheduling(into: Translator, given: Any, at: Path, tasks: int) -> None:
    policy = into.mapping(given, at)
    for key, value in policy.items():
        source = (*at, key)
        match key:
            case "priorityClass":
                priority(into, value, source)
            case "queue":
                queue(into, value, source)
            case "minAvailable" if value != tasks:
                into.warn(source, f"has no effect: all {tasks} tasks start together or none does")
            case "minResources":
                into.warn(source, "has no effect: what the tasks ask for is added up")
            case "scheduleTimeoutSeconds":
                into.warn(source, "has no effect: a job waits until it fits")
            case _ if key not in _SCHEDULING:
                dropped(into, source, _SCHEDULING)


def priority(into: Translator, value: Any, source: Path) -> None:
    if value in list(Priority):
        into.put(("priority",), value, source)
    else:
        into.warn(source, f"{value!r} has no effect", f"--set priority= one of {', '.join(Priority)}")


def queue(into: Translator, value: Any, source: Path) -> None:
    if value != "default":
        into.warn(source, f"{value!r} has no effect: Muster has no such queues", "--cluster says where to run")


def retries(into: Translator, value: Any, source: Path) -> None:
    """A task that fails fails its attempt, and then the whole job is tried again."""
    capped = min(value, MOST_RETRIES) if isinstance(value, int) and not isinstance(value, bool) else value
    into.put(("retry", "max"), capped, source)


def size_may_change(into: Translator, role: str, source: Path) -> None:
    """Says of a role with bounds that it may start with another number of tasks than `replicas`."""
    at: Path = ("roles", role)
    count = into.said((*at, "replicas"))
    least, most = (count if (said := into.said((*at, key))) is None else said for key in ("min", "max"))
    if least != most:
        message = (
            f"{role} starts with as many tasks as there is room for, from {least} to {most}: `replicas` is {count}"
        )
        into.warn(source, message, f"--set roles.{role}.min={count} --set roles.{role}.max={count} fixes the number")


def restart_policies(into: Translator, roles: Sequence[PodRole], given: dict[str, tuple[Any, Path]]) -> None:
    """Warns of policies that restart one container in place. `given` has those that stand beside the templates."""
    for role in roles:
        value, source = given.get(role.name) or (role.pod.get("restartPolicy"), (*role.pod_at, "restartPolicy"))
        if value in _RESTARTING:
            message = f"{value} has no effect: a failed task is not restarted by itself"
            into.warn(source, message, "--set retry.max=3 tries the whole job again")


def time_limit(into: Translator, value: Any, source: Path) -> None:
    """Set the time limit. If there are several deadlines, the earliest ends the job."""
    earlier = into.said(("timeLimit",))
    is_number = isinstance(value, int) and not isinstance(value, bool)
    known = int(earlier[:-1]) if isinstance(earlier, str) and earlier[:-1].isdigit() else None
    if not is_number or known is None or value < known:
        into.put(("timeLimit",), f"{value}s" if is_number else value, source)
