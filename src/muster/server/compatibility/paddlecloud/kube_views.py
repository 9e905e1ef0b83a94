"""Jobs and tasks as the Kubernetes objects that paddlecloud's clients read, with keys in snake_case.

A count of zero and a time that has not come are null, which clients print as `<nil>`.
"""

from datetime import UTC, datetime
from typing import Any

from muster.api.pod_phases import PHASES
from muster.domain.jobs import Cancelled, Job, Outcome, Stopping
from muster.domain.specs import PS_ROLE
from muster.domain.tasks import Task, TaskFailed, TaskLost
from muster.lib import pod_names as names

_MESSAGES = {
    1: "General Error",
    134: "Program Abort",
    136: "Error Arithmetic Operation(Floating Point Exception)",
    139: "Segmentation Fault",
}
_BY_SIGNAL = 128


def time_of(instant: float | None) -> str | None:
    """Writes a time to a second, as Kubernetes does."""
    return None if instant is None else datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_terminating(job: Job) -> bool:
    return isinstance(job.state, Stopping) and job.state.verdict.outcome is Outcome.CANCEL


def is_listed(job: Job) -> bool:
    """A job that was killed is gone, as a Kubernetes job that was deleted."""
    return not isinstance(job.state, Cancelled) and not is_terminating(job)


def job_object(job: Job, trainers: list[Task]) -> dict[str, Any]:
    counts = _counts(trainers)
    if job.state_name == "Failed" and not counts["failed"]:
        counts["failed"] = sum(task.state_name == "Stopped" for task in trainers)
    replicas = sum(role.replicas for role in job.spec.roles if role.name != PS_ROLE)
    return {
        "metadata": _metadata(job, f"{job.name}-trainer", {"paddle-job": job.name}),
        "spec": {"parallelism": replicas, "completions": replicas},
        "status": {
            "active": counts["active"] or None,
            "succeeded": counts["succeeded"] or None,
            "failed": counts["failed"] or None,
            "start_time": time_of(job.started_at),
            "completion_time": time_of(job.ended_at) if job.state_name == "Succeeded" else None,
            "conditions": None,
        },
    }


def pserver_object(job: Job, servers: list[Task]) -> dict[str, Any]:
    replicas = sum(role.replicas for role in job.spec.roles if role.name == PS_ROLE)
    ready = sum(task.state_name == "Running" for task in servers)
    return {
        "metadata": _metadata(job, f"{job.name}-pserver", {"paddle-job-pserver": job.name}),
        "spec": {"replicas": replicas},
        "status": {
            "available_replicas": ready or None,
            "fully_labeled_replicas": len(servers) or None,
            "ready_replicas": ready or None,
            "replicas": 0 if job.is_final else replicas,
            "conditions": None,
        },
    }


def pod_name(job: Job, task: Task) -> str:
    """The same whenever it is asked for, and another for each attempt, as pods have it."""
    return names.pod_name(f"{job.name}-{'pserver' if task.role == PS_ROLE else 'trainer'}", task.id)


def pod_object(job: Job, task: Task) -> dict[str, Any]:
    label = "paddle-job-pserver" if task.role == PS_ROLE else "paddle-job"
    started = time_of(task.started_at)
    terminated = _terminated(task) if task.has_ended else None
    is_running = task.state_name in ("Running", "Stopping")
    state = {
        "running": {"started_at": started} if is_running else None,
        "terminated": terminated,
        "waiting": None if terminated or is_running else {"reason": "ContainerCreating", "message": None},
    }
    return {
        "metadata": _metadata(job, pod_name(job, task), {label: job.name}),
        "spec": {"node_name": task.placement.node or None},
        "status": {
            "phase": PHASES[task.state_name],
            "start_time": started,
            "message": None,
            "reason": None,
            "host_ip": None,
            "pod_ip": None,
            "container_statuses": [
                {"name": "trainer", "ready": is_running, "restart_count": 0, "last_state": None, "state": state}
            ],
        },
    }


def listing(items: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return {
        "api_version": None,
        "kind": kind,
        "metadata": {"resource_version": None, "self_link": None},
        "items": items,
    }


def _metadata(job: Job, name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": job.owner,
        "labels": labels,
        "uid": job.id,
        "creation_timestamp": time_of(job.created_at),
        "deletion_timestamp": time_of(job.state.since) if isinstance(job.state, Stopping) else None,
    }


def _counts(tasks: list[Task]) -> dict[str, int]:
    """A task that Muster stopped has not failed itself, if another trainer did."""
    return {
        "active": sum(not task.has_ended for task in tasks),
        "succeeded": sum(task.state_name == "Succeeded" for task in tasks),
        "failed": sum(task.state_name in ("Failed", "Lost") for task in tasks),
    }


def _terminated(task: Task) -> dict[str, Any]:
    code = task.exit_code
    if code is None and task.signal:
        code = _BY_SIGNAL + task.signal
    state = task.state
    fault = state.fault.cause if isinstance(state, TaskFailed | TaskLost) else None
    return {
        "exit_code": code if code is not None else 0 if task.state_name == "Succeeded" else 137,
        "message": _MESSAGES.get(code or 0) or fault,
        "reason": "Completed" if task.state_name == "Succeeded" else "Error",
        "signal": task.signal,
        "started_at": time_of(task.started_at),
        "finished_at": time_of(task.ended_at),
    }
