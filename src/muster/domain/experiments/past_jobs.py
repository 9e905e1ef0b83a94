"""Jobs that have run, as a simulation needs them."""

from dataclasses import dataclass

from muster.domain.jobs import Job


@dataclass(frozen=True, slots=True)
class PastJob:
    id: str
    owner: str
    vc: str
    created_at: float
    started_at: float
    ended_at: float
    ran_s: float
    gpu_m: int
    """Thousandths of a GPU, of all tasks together."""
    gpu_model: str
    cpu_m: int
    memory_bytes: int
    time_limit_s: float | None
    preemptions: int = 0


def job_so_far(job: Job, now: float) -> PastJob | None:
    """A job that has begun and not ended, as if it ended now: how long it will run nobody knows. None if it has not
    run yet."""
    current_s = 0.0 if job.running_since is None else max(0.0, now - job.running_since)
    ran_s = job.ran_s + current_s
    if job.started_at is None or ran_s <= 0.0:
        return None
    sizes = dict(job.sizes)
    roles = [(role.resources, sizes.get(role.name, role.replicas)) for role in job.spec.roles]
    models = [model for asked, _ in roles if asked.gpus for model in asked.gpu_models]
    return PastJob(
        job.id,
        job.owner,
        job.vc,
        job.created_at,
        job.started_at,
        now,
        ran_s,
        sum(asked.gpu_m * count for asked, count in roles),
        models[0] if models else "",
        sum(asked.cpu_m * count for asked, count in roles),
        sum(asked.memory_bytes * count for asked, count in roles),
        job.spec.time_limit_s,
        job.preemptions,
    )
