"""What the scheduler needs to know of a job, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.domain.jobs import Job, Queued
from muster.domain.reasons import Reason
from muster.domain.resources import Resources


@dataclass(frozen=True, slots=True)
class TaskDemand:
    role: str
    index: int
    resources: Resources


@dataclass(frozen=True, slots=True)
class JobDemand:
    """A waiting job. Jobs are served by `order`: urgent before normal, then first come."""

    job_id: str
    name: str
    order: tuple[int, float, str]
    tasks: tuple[TaskDemand, ...]
    not_before: float | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one task goes."""

    role: str
    index: int
    node: str
    resources: Resources
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cycle says. Every job that was looked at and does not start has its Reason; those behind a blocked
    job are not looked at, and `ClusterState.reason` tells theirs when asked."""

    starts: tuple[Start, ...] = ()
    waits: Mapping[str, Reason] = field(default_factory=dict)
    wake_at: float | None = None


def demand_of(job: Job) -> JobDemand:
    tasks = tuple(
        TaskDemand(role.name, index, role.resources) for role in job.spec.roles for index in range(role.replicas)
    )
    not_before = job.state.not_before if isinstance(job.state, Queued) else None
    return JobDemand(job.id, job.name, (-job.spec.priority.rank, job.created_at, job.id), tasks, not_before)
