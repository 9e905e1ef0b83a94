"""Secrets that belong to one job: values that came in its file, as those of an OpenPAI job do.

They are kept like those of its owner, under names that begin with the id of the job, and are removed with it. A job
that is made from another one gets copies, so that it does not depend on how long the other is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from muster.domain.errors import Invalid, Problem
from muster.domain.jobs import Job
from muster.domain.secrets import OF_A_JOB, Secret, is_of_a_job, kind_of
from muster.domain.specs import JobSpec
from muster.engine.context import Context
from muster.engine.data.secrets import opened, require_key, secret_box

Carried = Mapping[str, str]
"""The values that came in a job's file, by the name under which its spec refers to them."""
NOTHING_CARRIED: Carried = {}


async def with_own_secrets(context: Context, job: Job, carried: Carried) -> tuple[Job, list[Secret]]:
    """The job, whose spec refers to secrets of its own, and those that are to be stored together with it."""
    names = [name for name in job.spec.secret_names if name in carried or _is_of_another(job, name)]
    if not names:
        return job, []
    user = await context.store.user(job.owner)
    if user is None:
        return job, []
    copied = await context.store.sealed_secrets(user.id, [name for name in names if name not in carried])
    values = opened(context, copied) | {
        name: carried[name].encode("utf-8", "surrogateescape") for name in names if name in carried
    }
    _require_small(context, values)
    await require_key(context)
    now = context.clock()
    renamed = {name: _name_in(job, name) for name in values}
    sealed = [
        Secret(
            user.id,
            renamed[name],
            kind_of(value),
            len(value),
            now,
            now,
            user.name,
            secret_box(context).seal(user.id, renamed[name], value),
        )
        for name, value in values.items()
    ]
    return replace(job, spec=_with_names(job.spec, renamed)), sealed


def _is_of_another(job: Job, name: str) -> bool:
    return is_of_a_job(name) and not name.startswith(f"{job.id}.")


def _name_in(job: Job, name: str) -> str:
    found = OF_A_JOB.fullmatch(name)
    return f"{job.id}.{found[1] if found else name}"


def _with_names(spec: JobSpec, names: Mapping[str, str]) -> JobSpec:
    pull = spec.runtime.pull_secret
    return replace(
        spec,
        secrets=tuple(replace(use, name=names.get(use.name, use.name)) for use in spec.secrets),
        runtime=replace(spec.runtime, pull_secret=names.get(pull, pull) if pull else pull),
    )


def _require_small(context: Context, values: Mapping[str, bytes]) -> None:
    most = context.limits.secret_bytes
    problems: Sequence[Problem] = [
        Problem("secrets", f"{name} has {len(value)} bytes", f"at most {most} are allowed")
        for name, value in values.items()
        if len(value) > most
    ]
    if problems:
        raise Invalid("the job spec has a secret that is too large", problems=tuple(problems))
