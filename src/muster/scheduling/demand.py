"""What the scheduler needs to know of a job, and what it answers."""

from dataclasses import dataclass
from hashlib import blake2b

from muster.domain.clusters import PhysicalCluster
from muster.domain.jobs import Job, Queued
from muster.domain.needs import where_of
from muster.domain.reasons import Reason
from muster.domain.resources import Resources
from muster.domain.specs import Where

ANYWHERE = Where()


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
    """Run time that somebody foretold. It orders, and never reserves."""
    likeness: tuple[str, ...] = ()
    """What jobs like it have in common, from the narrowest to the widest: prediction learns by these."""
    preemptible: bool = True
    ran_s: float = 0.0
    """Run time of earlier attempts that was not lost."""
    waiting_since: float | None = None
    """Since when it waits this time; when it was created, if absent."""
    where: Where = ANYWHERE
    elastic: tuple[Elastic, ...] = ()
    checkpoint_every_s: float | None = None
    """It saves its work by itself this often (0: always); None if it is only known by what it announces."""
    restart_s: float = 0.0
    """What a restart costs on top of the work lost."""
    blocked: Reason | None = None
    """It may not start yet for a reason that is not hardware: a dependency."""

    @property
    def order(self) -> tuple[int, float, str]:
        return -self.priority, self.created_at, self.job_id


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
class Preemption:
    """A running gang that has to leave. It goes back to the queue; whom its places are for is in the reason."""

    job_id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cycle says. A start whose places are still being left comes in the plan of a later cycle, when the last
    of them is `released`. `ClusterState.reasons` tells why the others wait."""

    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    wake_at: float | None = None


def demand_of(job: Job, cluster: PhysicalCluster | None = None) -> JobDemand:
    """`cluster` tells which folders the job's paths mean: it goes only where they are in order."""
    state = job.state
    return JobDemand(
        job_id=job.id,
        name=job.name,
        tasks=tuple(TaskDemand(role.name, i, role.resources) for role in job.spec.roles for i in range(role.replicas)),
        created_at=job.created_at,
        priority=job.spec.priority.rank,
        user=job.owner,
        vc=job.vc,
        not_before=state.not_before if isinstance(state, Queued) else None,
        time_limit_s=job.spec.time_limit_s,
        likeness=likeness_of(job),
        preemptible=job.spec.preemptible,
        ran_s=job.ran_s,
        waiting_since=state.since if isinstance(state, Queued) else None,
        where=job.spec.where if cluster is None else where_of(job.spec, cluster),
        elastic=tuple(
            Elastic(role.name, role.min_replicas or role.replicas, role.max_replicas or role.replicas)
            for role in job.spec.roles
            if role.is_elastic
        ),
    )


def likeness_of(job: Job) -> tuple[str, ...]:
    """Same user, name without its trailing numbers, command, package and resources; then less and less in common."""
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
