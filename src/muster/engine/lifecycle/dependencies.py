"""Jobs that wait for other jobs: `after` in a spec.

Dependencies matter only before a job's first start: what was satisfied once is not checked again. When a dependency
ends, its dependents are checked again from the open jobs and the store. So nothing has to be remembered over a restart,
and no job waits for one that has ended or was deleted. A job can name only jobs that exist already, and jobs that are
submitted together with it, which are refused if they wait for each other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from muster.domain.errors import MusterError, NotFound, Problem
from muster.domain.failures.exit_causes import DEPENDENCY_FAILED, DEPENDENCY_GONE
from muster.domain.failures.faults import Fault
from muster.domain.jobs import Failed, Job, Queued, Succeeded, move
from muster.domain.reasons import Reason
from muster.domain.specs import Dependency, JobSpec, Needed
from muster.engine.context import Context
from muster.engine.lifecycle.node_exclusion import excluding_failed_nodes
from muster.engine.state.event_builders import job_event
from muster.engine.state.open_jobs import Entry
from muster.lib.nearest import nearest
from muster.ports.store import Change, JobFilter
from muster.scheduling.demand import JobDemand

_log = structlog.get_logger("engine.dependencies")
CODE = "dependency"
"""The code of the reason why such a job waits."""
_RETRY_S = 1.0
_NAMES_SHOWN = 5
_COMPARED = 200
"""How many of the newest jobs are compared with a name that does not exist."""


async def resolved(
    context: Context, spec: JobSpec, owner: str, known: Mapping[str, str]
) -> tuple[JobSpec, list[Problem]]:
    """The spec with its dependencies by id, and what is wrong with them. A name means the job of that name that is
    submitted together with this one, whose id is `known`, or else the owner's newest job of that name, open or
    ended."""
    found, problems = [], []
    for place, dependency in enumerate(spec.after):
        if dependency.job in known:
            found.append(replace(dependency, job=known[dependency.job]))
            continue
        path = f"after[{place}].job"
        job = await _find(context, owner, dependency.job)
        if job is None:
            problems.append(await _no_such_job(context, owner, place, dependency.job, known))
        elif job.is_final and not _is_satisfied(dependency, job):
            hint = "run it again and name the new one, or use `on: ended`"
            problems.append(
                Problem(path, f"job {job.name} ended {job.state_name}, so this one could never start", hint)
            )
        else:
            found.append(replace(dependency, job=job.id))
    return replace(spec, after=tuple(found)) if found and not problems else spec, problems


async def unknown_dependencies(
    context: Context, after: Sequence[str], owner: str, known: Collection[str]
) -> list[Problem]:
    """A problem for each name that stands for no job. An empty name is left out: something else is wrong with it."""
    return [
        await _no_such_job(context, owner, place, name, known)
        for place, name in enumerate(after)
        if name and name not in known and await _find(context, owner, name) is None
    ]


async def _no_such_job(context: Context, owner: str, place: int, name: str, known: Collection[str]) -> Problem:
    own: list[str] = []
    if place < _NAMES_SHOWN:  # a long list is not worth as many queries
        page = await context.store.jobs(JobFilter(owner=owner), limit=_COMPARED)
        own = [job.name for job in page.items]
    guess = nearest(name, [*known, *own])
    hint = f"did you mean {guess}?" if guess else "name a job of your own that is queued, running or in the history"
    return Problem(f"after[{place}].job", f"{owner} has no job {name!r}", hint)


def waits_for_others(job: Job) -> bool:
    """Whether the start of this job depends on other jobs."""
    return bool(job.spec.after) and job.attempt == 0


def queue(context: Context, entry: Entry) -> None:
    """Put the job into the queue. A job with dependencies is parked until they have been checked."""
    entry.may_start = not waits_for_others(entry.job)
    enqueue(context, entry)
    if not entry.may_start:
        context.spawn(recheck(context, entry), f"dependencies {entry.job.id}")


def enqueue(context: Context, entry: Entry, *, not_before: float | None = None) -> None:
    """Hand the job's demand to the scheduler. With `not_before` it backs off until then."""
    demand = demand_in_queue(context, entry)
    if not_before is not None:
        demand = replace(demand, not_before=not_before)
    context.clusters[entry.job.cluster].queued(demand)
    context.wake.set()


def demand_in_queue(context: Context, entry: Entry) -> JobDemand:
    demand = excluding_failed_nodes(context, entry, context.demand_of(entry.job))
    return demand if entry.may_start else replace(demand, blocked=reason(context, entry.job))


def hypothetical_demand(context: Context, job: Job) -> JobDemand:
    """The demand of a job with another spec. It is blocked by those of its dependencies that are open now."""
    is_blocked = waits_for_others(job) and any(context.open_jobs.get(one.job) is not None for one in job.spec.after)
    return replace(context.demand_of(job), blocked=reason(context, job)) if is_blocked else context.demand_of(job)


def recheck_dependents(context: Context, job_id: str) -> None:
    """Check the jobs that depend on this one, which has ended or was deleted from the history."""
    for entry in context.open_jobs.dependents(job_id):
        context.spawn(recheck(context, entry), f"dependencies {entry.job.id}")


async def recheck(context: Context, entry: Entry) -> None:
    """Find out from its dependencies whether the job may start, waits on, or can never start."""
    async with entry.lock:
        if entry.may_start or not isinstance(entry.job.state, Queued):
            return
        try:
            status = await _status(context, entry.job)
            if status.fault is not None:
                await _fail(context, entry, status.fault)
                return
        except MusterError as error:
            _log.warning("dependencies not checked, will try again", job=entry.job.id, error=str(error))
            context.later(_RETRY_S, lambda: recheck(context, entry), f"dependencies {entry.job.id}")
            return
        if not status.is_open:
            entry.may_start = True
            enqueue(context, entry)


def reason(context: Context, job: Job) -> Reason:
    """The jobs that it waits for, with their states now."""
    open_ones = [entry.job for one in job.spec.after if (entry := context.open_jobs.get(one.job)) is not None]
    shown = ", ".join(f"{one.name} ({one.state_name})" for one in open_ones[:_NAMES_SHOWN])
    more = f" and {len(open_ones) - _NAMES_SHOWN} more" if len(open_ones) > _NAMES_SHOWN else ""
    names = ", ".join(one.name for one in open_ones)
    change = f"it may start when {names} {'has' if len(open_ones) == 1 else 'have'} ended well"
    if all(one.on is Needed.ENDED for one in job.spec.after):
        change = change.removesuffix(" well")
    if not open_ones:
        return Reason(CODE, "waits for jobs that have just ended", "it starts by itself")
    return Reason(CODE, f"waits for {shown}{more}", change, {"jobs": names})


@dataclass(frozen=True, slots=True)
class _Status:
    is_open: bool = False
    fault: Fault | None = None


async def _status(context: Context, job: Job) -> _Status:
    """The dependencies taken together. One that failed decides at once, whatever the others do."""
    is_open = False
    for dependency in job.spec.after:
        if context.open_jobs.get(dependency.job) is not None:
            is_open = True
            continue
        try:
            ended = await context.store.job(dependency.job)
        except NotFound:
            return _Status(fault=DEPENDENCY_GONE.fault(job=dependency.job))
        if not ended.is_final:
            is_open = True  # it is on a cluster that this server does not have, or was written this very moment
        elif not _is_satisfied(dependency, ended):
            return _Status(fault=DEPENDENCY_FAILED.fault(job=ended.name, state=ended.state_name))
    return _Status(is_open)


async def _fail(context: Context, entry: Entry, fault: Fault) -> None:
    now = context.clock()
    job = move(entry.job, Failed(now, fault), reason=fault.cause)
    await context.apply(Change(job=job, events=[job_event(job, now)]))
    entry.job = job
    context.clusters[job.cluster].unqueued(job.id)
    context.open_jobs.remove(job.id)
    recheck_dependents(context, job.id)


def _is_satisfied(dependency: Dependency, ended: Job) -> bool:
    return dependency.on is Needed.ENDED or isinstance(ended.state, Succeeded)


async def _find(context: Context, owner: str, ref: str) -> Job | None:
    job = await context.store.find_job(owner, ref)
    if job is not None:
        return job
    try:
        job = await context.store.job(ref)
    except NotFound:
        return None
    return job if job.owner == owner else None
