"""Another spec for a job that exists: who may give it one."""

from collections.abc import Callable

from muster.domain.errors import Forbidden
from muster.domain.jobs import Job
from muster.domain.specs import JobSpec

Respec = Callable[[JobSpec], JobSpec]
"""Makes the new spec from the present one."""


def same_spec(spec: JobSpec) -> JobSpec:
    return spec


def refuse_secrets_of_others(job: Job, spec: JobSpec, actor: str) -> None:
    """A changed command could print the secrets of the job's owner, so that only the owner may change it."""
    if spec.secret_names and actor != job.owner:
        raise Forbidden(
            f"{actor} may not change job {job.name}: it gets secrets of {job.owner}",
            hint=f"only {job.owner} may; admins can bump, move, hold and kill it",
        )
