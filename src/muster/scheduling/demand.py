"""What the scheduler needs to know about a job, and where each of its tasks goes."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from muster.domain.clusters import PhysicalCluster
from muster.domain.jobs import Job, Queued
from muster.domain.needs import where_of
from muster.domain.reasons import Reason
from muster.domain.resources import ExtendedDevice, Resources
from muster.domain.specs import Where

ANYWHERE = Where()
ANOTHER_JOB = "another job"
"""Stands for the name of a job of another user, where jobs are private."""


@dataclass(frozen=True, slots=True)
class TaskDemand:
    role: str
    index: int
    resources: Resources


@dataclass(frozen=True, slots=True)
class Elastic:
    """A role that may run with fewer or more tasks than asked for."""

    role: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class JobDemand:
    """A job as the scheduler sees it."""

    job_id: str
    name: str
    tasks: tuple[TaskDemand, ...]
    created_at: float = 0.0
    priority: int = 1
    user: str = ""
    vc: str = ""
    not_before: float | None = None
    time_limit_s: float | None = None
    predicted_s: float | None = None
    """Run time that somebody predicted. It orders, and never reserves."""
    similarity: tuple[str, ...] = ()
    """What it has in common with other jobs, from the narrowest to the widest key: predictions are learnt by these."""
    preemptible: bool = True
    ran_s: float = 0.0
    """Run time of earlier attempts that was not lost."""
    waiting_since: float | None = None
    """The time since which it has been waiting; None means since it was created."""
    where: Where = ANYWHERE
    elastic: tuple[Elastic, ...] = ()
    checkpoint_every_s: float | None = None
    """How often it saves its work by itself (0: always); None if only what it announces is known."""
    restart_s: float = 0.0
    """What a restart costs on top of the work lost."""
    blocked: Reason | None = None
    """Why it may not start yet, where that is not hardware: a dependency."""
    is_private: bool = False
    """Whether only its owner may know its name."""

    @property
    def order(self) -> tuple[int, float, str]:
        return -self.priority, self.created_at, self.job_id

    def name_for(self, user: str | None) -> str:
        """Its name in reasons that this user reads; None stands for anybody."""
        return self.name if not self.is_private or self.user == user else ANOTHER_JOB


@dataclass(slots=True, unsafe_hash=True)
class Slot:
    """Where one task goes. It is never changed; it is not declared frozen because that would take five times as long to
    make, and a cycle makes tens of thousands of slots."""

    role: str
    index: int
    node: str
    resources: Resources
    devices: tuple[int, ...] = ()
    extended: tuple[ExtendedDevice, ...] = ()
    """Its devices other than GPUs."""


def gpus_of(job: JobDemand) -> float:
    """What service is counted by: a job without GPUs counts as one."""
    return sum(task.resources.gpu_m for task in job.tasks) / 1000 or 1.0


def demand_of(
    job: Job,
    cluster: PhysicalCluster | None = None,
    *,
    counted: Callable[[Resources], Resources] = lambda asked: asked,
    is_private: bool = False,
) -> JobDemand:
    """`cluster` says which folders the job's paths mean: the job goes only where they are in order. `counted` says what
    a task counts that asks for these resources."""
    state = job.state
    return JobDemand(
        job_id=job.id,
        name=job.name,
        tasks=tuple(
            TaskDemand(role.name, index, resources)
            for role in job.spec.roles
            for resources in (counted(role.resources),)
            for index in range(role.replicas)
        ),
        created_at=job.created_at,
        priority=job.spec.priority.rank,
        user=job.owner,
        vc=job.vc,
        not_before=state.not_before if isinstance(state, Queued) else None,
        time_limit_s=job.spec.time_limit_s,
        similarity=similarity_of(job),
        preemptible=job.spec.preemptible,
        ran_s=job.ran_s,
        waiting_since=state.since if isinstance(state, Queued) else None,
        where=job.spec.where if cluster is None else where_of(job.spec, cluster),
        elastic=tuple(
            Elastic(role.name, role.min_replicas or role.replicas, role.max_replicas or role.replicas)
            for role in job.spec.roles
            if role.is_elastic
        ),
        is_private=is_private,
    )


def similarity_of(job: Job) -> tuple[str, ...]:
    """Keys from the narrowest (user, name without trailing numbers, GPUs, package, command) to the widest: all jobs."""
    spec = job.spec
    stem = spec.name.rstrip("0123456789-_.") or spec.name
    gpus = sum(role.resources.gpu_m * role.replicas for role in spec.roles)
    words = "\0".join(word for role in spec.roles for word in role.command)
    command = blake2b(words.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return (
        f"{job.owner}|{stem}|{gpus}|{spec.package}|{command}",
        f"{job.owner}|{stem}|{gpus}",
        f"{job.owner}|{gpus}",
        f"{job.vc}|{gpus}",
        f"{gpus}",
        "",
    )
