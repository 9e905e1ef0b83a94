"""Phases of a job, and how they follow from its pods.

    Pending ──► Starting ──► Running ──► Completed | Failed
       ▲           │            │
       │           └──────┬─────┘
       ├── Suspended ◄────┤ spec.suspend
       └── Restarting ◄───┘ a pod failed, and backoffLimit is not used up

A phase never goes back otherwise: a job whose lost pod is created again stays Running.
"""

from collections.abc import Collection
from enum import StrEnum

from muster.domain.specs import WORKER_ROLE
from muster.operator.job.paddle_job import PaddleJob, RoleSpec
from muster.operator.job.pod_states import PodState, PodView


class Phase(StrEnum):
    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    FAILED = "Failed"


ENDED = (Phase.COMPLETED, Phase.FAILED)
_FORWARD = (Phase.PENDING, Phase.STARTING, Phase.RUNNING)


def phase_of(job: PaddleJob) -> Phase | None:
    """The phase that was written last."""
    given = job.status.get("phase")
    return Phase(given) if given in tuple(Phase) else None


def next_phase(job: PaddleJob, pods: Collection[PodView]) -> Phase:
    """The phase of a job that neither ends nor is suspended. `pods` are those of the current attempt."""
    before, now = phase_of(job), _progress(job, pods)
    if before is Phase.RESTARTING:
        return Phase.RUNNING if now is Phase.RUNNING else Phase.RESTARTING
    if before in _FORWARD:
        return max(before, now, key=_FORWARD.index)
    return now


def has_completed(job: PaddleJob, pods: Collection[PodView]) -> bool:
    """Whether all workers succeeded. Parameter servers may still run; they decide only if there are no workers."""
    worker = job.role(WORKER_ROLE)
    deciding = (worker,) if worker is not None and worker.replicas else job.roles
    return all(_has_succeeded(job, role, _of_role(role, pods)) for role in deciding)


def _progress(job: PaddleJob, pods: Collection[PodView]) -> Phase:
    reached = [_role_progress(role, _of_role(role, pods)) for role in job.roles if role.replicas]
    return min(reached, key=_FORWARD.index, default=Phase.PENDING)


def _role_progress(role: RoleSpec, pods: list[PodView]) -> Phase:
    up = sum(pod.state in (PodState.RUNNING, PodState.SUCCEEDED) for pod in pods)
    if up >= max(1, role.minimum):
        return Phase.RUNNING
    waiting = role.minimum - len(pods) + sum(pod.state is PodState.PENDING for pod in pods)
    return Phase.PENDING if waiting > 0 else Phase.STARTING


def _has_succeeded(job: PaddleJob, role: RoleSpec, pods: list[PodView]) -> bool:
    succeeded = sum(pod.state is PodState.SUCCEEDED for pod in pods)
    if not job.is_elastic:
        return succeeded >= role.replicas
    at_work = any(pod.state in (PodState.STARTING, PodState.RUNNING) and pod.peers for pod in pods)
    return succeeded >= max(1, role.minimum) and not at_work


def _of_role(role: RoleSpec, pods: Collection[PodView]) -> list[PodView]:
    return [pod for pod in pods if pod.role == role.name and pod.index < role.replicas]
