"""Elastic roles: how many replicas an attempt runs with, and the spec that follows from it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from muster.domain.jobs import Job
from muster.domain.specs import Completion, JobSpec, Role


def spec_of_attempt(job: Job) -> JobSpec:
    """The spec of the job, with the number of replicas that the current attempt has."""
    if not job.sizes:
        return job.spec
    sizes = dict(job.sizes)
    return replace(job.spec, roles=tuple(_sized(role, sizes.get(role.name)) for role in job.spec.roles))


def sizes_of(spec: JobSpec, roles: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """The number of replicas of each elastic role. `roles` names the role of each task that was placed."""
    counts = Counter(roles)
    return tuple((role.name, counts[role.name]) for role in spec.roles if role.is_elastic)


def _sized(role: Role, replicas: int | None) -> Role:
    if replicas is None or replicas == role.replicas:
        return role
    failed, succeeded = role.completion.min_failed, role.completion.min_succeeded
    limits = Completion(
        failed if failed is None or failed == 1 else _threshold(failed, role.replicas, replicas),
        None if succeeded is None else _threshold(succeeded, role.replicas, replicas),
    )
    return replace(role, replicas=replicas, completion=limits)


def _threshold(asked: int, of: int, now: int) -> int:
    """A threshold that meant all replicas still does, and it never exceeds their number."""
    return now if asked >= of else min(asked, now)
