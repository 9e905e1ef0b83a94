"""May this spec become a job? All problems at once; a gang that can never run is refused here, not left waiting."""

from dataclasses import replace

from muster.domain.errors import Invalid, Problem, Unplaceable
from muster.domain.jobs import Held, Job, Queued
from muster.domain.specs import JobSpec
from muster.engine.context import Context
from muster.lib.ids import new_id
from muster.scheduling.demand import demand_of


async def admit(context: Context, spec: JobSpec, owner: str) -> Job:
    """The job as it would be stored."""
    cluster = spec.cluster or context.default_cluster
    if cluster not in context.backends:
        known = ", ".join(sorted(context.backends))
        raise Invalid(
            f"there is no cluster {cluster!r}",
            problems=(Problem("cluster", f"there is no cluster {cluster!r}", f"known clusters: {known}"),),
        )
    problems = context.backends[cluster].cannot_honour(spec)
    if spec.package is not None and await context.store.package(spec.package, owner) is None:
        problems = [*problems, Problem("package", f"no package {spec.package} of {owner}", "upload the folder first")]
    if problems:
        raise Invalid(f"cluster {cluster} cannot run this job", problems=tuple(problems))
    now = context.clock()
    state = Held(now, owner) if spec.held else Queued(now)
    job = Job(new_id(), owner, cluster, replace(spec, cluster=cluster), state, now)
    reason = context.clusters[cluster].never_fits(demand_of(job))
    if reason is not None and reason.code == "never":
        raise Unplaceable(f"this job can never run on {cluster}: {reason.message}", hint=reason.change)
    return job
