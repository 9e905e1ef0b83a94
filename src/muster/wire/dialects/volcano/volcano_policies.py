"""The lifecycle policies of a Volcano job: what follows when a pod fails, or when the pods of a task have succeeded."""

from collections.abc import Sequence
from typing import Any

from muster.wire.dialects.kubernetes.run_policies import retries
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

DEFAULT_RETRIES = 3
_FAILURES = ("PodFailed", "TaskFailed", "*")
_LOSSES = ("PodEvicted", "Unknown", "OutOfSync")
_ENDS = ("AbortJob", "TerminateJob")
_RESTARTS = ("RestartJob", "RestartTask", "RestartPod", "RestartPartition")


def policies(into: Translator, given: Any, at: Path, tasks: Sequence[str], retry: Any) -> None:
    """`tasks` are those that the policies are about, and `retry` is the `maxRetry` that applies to them."""
    seen: set[str] = set()
    for place, item in enumerate(into.listed(given, at)):
        source: Path = (*at, place)
        policy = into.mapping(item, source)
        listed = policy.get("events")
        events = [str(one) for one in listed] if isinstance(listed, list) else []
        events += [str(policy["event"])] if policy.get("event") else []
        if policy.get("exitCode") is not None:
            events.append("PodFailed")
            into.warn((*source, "exitCode"), "has no effect: it holds for every exit code but 0")
        if policy.get("timeout") is not None:
            into.warn((*source, "timeout"), "has no effect: it happens at once")
        for event in events:
            if event in seen and policy.get("exitCode") is None:
                into.refuse(source, f"another policy is about {event}, too", "choose one")
            seen.add(event)
            _policy(into, event, str(policy.get("action")), source, tasks, retry)


def _policy(into: Translator, event: str, action: str, source: Path, tasks: Sequence[str], retry: Any) -> None:
    match event, action:
        case "TaskCompleted", "CompleteJob":
            for task in tasks:
                into.copy(("roles", task, "minSucceeded"), ("roles", task, "replicas"))
        case _, "SyncJob":
            pass
        case _, _ if event in _FAILURES and action in _ENDS:
            pass  # one failed task fails a Muster job
        case _, _ if event in _FAILURES and action in _RESTARTS:
            retries(into, DEFAULT_RETRIES if retry is None else retry, source)
            if action != "RestartJob":
                into.warn(source, f"{action} starts the whole job again: its tasks belong together")
        case _, _ if event in _LOSSES and action in _RESTARTS:
            pass  # a job whose tasks were lost or preempted is started again
        case _, _ if event in _LOSSES and action in _ENDS:
            message = f"{action} has no effect: a job that loses its nodes is started again"
            into.warn(source, message, "--set preemptible=false keeps other jobs from taking them")
        case "PodPending" | "PodRunning", _:
            into.warn(source, "has no effect: all tasks of a job start together or none does")
        case _:
            message = f"Muster cannot do {action} after {event}"
            into.refuse(source, message, "--set retry.max=0 goes on without it", settled_by=("retry", "max"))
