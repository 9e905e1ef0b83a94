"""Admission: decides whether a spec may become a job, and reports all its problems at once.

A gang that can never run is refused here, and not left waiting.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from muster.domain.access import is_open, may_use
from muster.domain.errors import Conflict, Invalid, Problem, TooMany, Unplaceable
from muster.domain.job_reasons import held_by
from muster.domain.jobs import Held, Job, Queued
from muster.domain.needs import folder_name, folder_paths
from muster.domain.reasons import Reason
from muster.domain.specs import JobSpec, SecretUse, tasks_at_most
from muster.domain.unknown_folders import unknown_folder
from muster.domain.virtual_clusters import VirtualCluster
from muster.engine.cluster_access import (
    NOBODY,
    advice,
    chosen_cluster,
    is_destination_offered,
    is_open_to_all,
    is_removed,
    is_switched_off,
    known_clusters,
    may_know,
)
from muster.engine.context import Context
from muster.engine.data.disk_usage import require_room
from muster.engine.data.package_places import package_problems
from muster.engine.data.secrets import missing_secrets, pull_secret_problems
from muster.engine.lifecycle.dependencies import resolved, unknown_dependencies
from muster.engine.requests.cluster_defaults import refusals, too_large, with_defaults
from muster.engine.requests.job_sets import SetRefused, start_order
from muster.engine.requests.storages import with_storages
from muster.engine.state.cluster_settings import DEFAULT, in_queue
from muster.lib.ids import new_id
from muster.lib.quantities import format_cpu
from muster.scheduling.demand import demand_of
from muster.scheduling.pooled import never_fits

_NO_SIBLINGS: Mapping[str, str] = MappingProxyType({})


async def admit(context: Context, spec: JobSpec, owner: str, carried: Collection[str] = ()) -> Job:
    """Admit one spec. Returns the job as it is to be stored. `carried` are the secrets that came with it."""
    _require_few_open(context, owner, 1)
    require_room(context, owner)
    job = await _admit(context, spec, owner, carried=carried)
    _require_room_for([job], context, owner)
    return job


async def admit_all(
    context: Context,
    specs: Sequence[JobSpec],
    owner: str,
    *,
    unread: Collection[str] = (),
    carried: Sequence[Collection[str]] = (),
) -> list[Job]:
    """Admit the jobs of one request, which must have room in the queue together, and may wait for each other. Raises
    SetRefused with what is wrong with each of them. `unread` has the names of jobs of the request whose specs have
    problems of their own, and `carried` the secrets that came with each of the others."""
    _require_few_open(context, owner, len(specs))
    require_room(context, owner)
    order = start_order(specs)
    ids = {place: new_id() for place in order}
    jobs: dict[int, Job] = {}
    refusals: dict[int, Invalid] = {}
    for place in order:
        known = {}
        if specs[place].after:
            known = dict.fromkeys(unread, "") | {specs[one].name: ids[one] for one in order if one != place}
        try:
            own = carried[place] if carried else ()
            jobs[place] = replace(await _admit(context, specs[place], owner, known, own), id=ids[place])
        except Invalid as error:
            refusals[place] = error
    if refusals:
        raise SetRefused(refusals, len(specs))
    admitted = [jobs[place] for place in range(len(specs))]
    _require_room_for(admitted, context, owner)
    return admitted


async def admit_alike(context: Context, spec: JobSpec, owner: str, most: int) -> tuple[Job, int]:
    """Admit one spec of many that differ in names and params only. Returns its job, and of how many like it there is
    room for the jobs now: at least 1, and at most `most`."""
    job = await admit(context, spec, owner)
    left = context.limits.open_jobs_per_user - context.open_jobs.count_of(owner)
    if job.vc:
        left = min([left, *_places_in_queue(context, context.config.virtual[job.vc], owner)])
    return job, min(left, most)


async def readmit(context: Context, job: Job, spec: JobSpec, carried: Collection[str] = ()) -> Job:
    """Admit the same job with another spec, by the same rules. It needs room only in a queue where it is not yet."""
    found = await _admit(context, spec, job.owner, carried=carried)
    if found.vc and found.vc != job.vc:
        _require_room(context, context.config.virtual[found.vc], job.owner, 1)
    return replace(job, spec=found.spec, cluster=found.cluster, vc=found.vc)


async def _admit(
    context: Context,
    spec: JobSpec,
    owner: str,
    known: Mapping[str, str] = _NO_SIBLINGS,
    carried: Collection[str] = (),
) -> Job:
    """`known` has the ids of jobs that are submitted together with this one, by name."""
    _require_few_tasks(context, spec)
    problems, spec = await _wherever_it_runs(context, spec, owner, known, carried)
    try:
        cluster, vc = await _destination(context, spec.cluster, owner)
    except Invalid as error:
        raise Invalid(error.message, hint=error.hint, problems=(*error.problems, *problems)) from None
    if vc is not None:
        spec = with_defaults(spec, vc.defaults)
    spec, unknown = await with_storages(context, spec, cluster, owner)
    name = vc.name if vc else cluster
    problems = [*await _refusals(context, cluster, vc, spec, owner, carried), *unknown, *problems]
    if problems:
        raise Invalid(f"cluster {name} cannot run this job", problems=tuple(problems))
    now = context.clock()
    state, why = (Held(now, owner), held_by(owner)) if spec.held else (Queued(now), "")
    spec = replace(spec, cluster=name)
    job = Job(new_id(), owner, cluster, spec, state, now, vc=vc.name if vc else "", reason=why)
    reason = _never_fits(context, job, vc)
    if reason is not None and reason.code == "never":
        raise Unplaceable(f"this job can never run on {name}: {reason.message}", hint=reason.change)
    return job


def _require_room_for(jobs: Sequence[Job], context: Context, owner: str) -> None:
    for name in dict.fromkeys(job.vc for job in jobs if job.vc):
        _require_room(context, context.config.virtual[name], owner, sum(job.vc == name for job in jobs))


def _require_few_tasks(context: Context, spec: JobSpec) -> None:
    """Comes first, because everything that follows takes time for each task."""
    count, most = tasks_at_most(spec), context.limits.tasks_per_job
    if count > most:
        problem = Problem("roles", f"ask for {count} tasks", f"a job may have at most {most} tasks")
        raise Invalid(f"the job has too many tasks: {count}", problems=(problem,))


def _require_few_open(context: Context, owner: str, count: int) -> None:
    used, most = context.open_jobs.count_of(owner), context.limits.open_jobs_per_user
    if used + count > most:
        raise TooMany(
            f"{owner} has {used} jobs that have not ended, {most} are allowed, {count} came",
            hint="wait until some have ended; `muster get quota` shows the limits",
            retry_after_s=60.0,
        )


def _never_fits(context: Context, job: Job, vc: VirtualCluster | None) -> Reason | None:
    """Why the job can never start, by what its tasks count. If that is more than they ask for, the reason says so."""
    spec = job.spec
    counts = [replace(role, resources=context.counted(job.cluster, role.resources)) for role in spec.roles]
    reason = _beyond(context, replace(job, spec=replace(spec, roles=tuple(counts))), vc)
    engine = context.engine(job.cluster)
    if reason is None or engine is None or engine.cpu_unit_m == 1:
        return reason
    as_asked = (too_large(spec, vc) if vc else None) or never_fits(engine.pool(), demand_of(job))
    if as_asked is not None and as_asked.message == reason.message:
        return reason
    unit = "whole CPUs" if engine.cpu_unit_m == 1000 else f"multiples of {format_cpu(engine.cpu_unit_m)} CPU"
    return replace(reason, message=f"{reason.message} (each task gets {unit} there)")


def _beyond(context: Context, job: Job, vc: VirtualCluster | None) -> Reason | None:
    """The reason of the virtual cluster, or of the machines."""
    if vc is not None and (reason := too_large(job.spec, vc)) is not None:
        return reason
    demand, engine = context.demand_of(job), context.engine(job.cluster)
    return context.clusters[job.cluster].never_fits(demand) if engine is None else never_fits(engine.pool(), demand)


async def _missing_inputs(context: Context, spec: JobSpec, owner: str) -> AsyncIterator[Problem]:
    for place, one in enumerate(spec.inputs):
        if "/" in one.member or one.member in (".", ".."):
            yield Problem(f"inputs[{place}].source", f"{one.member!r} is not the name of one file")
        elif await context.store.package(one.digest, owner) is None:
            yield Problem(f"inputs[{place}].source", f"no input {one.source} of {owner}", "upload it first")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesUsed:
    """The names in a spec that has problems of its own. A name that is itself wrong is empty."""

    cluster: str | None
    secrets: Sequence[SecretUse]
    pull_secret: str | None = None
    after: Sequence[str]


async def unknown_names(
    context: Context, used: NamesUsed, owner: str, *, siblings: Collection[str] = ()
) -> list[Problem]:
    """The problems of a spec that has others too: the cluster that it names, its secrets and the jobs that it waits
    for, without all the rest. `siblings` are the names of jobs that are submitted together with it."""
    problems = await missing_secrets(context, used.secrets, owner)
    problems += await pull_secret_problems(context, used.pull_secret, owner)
    problems += await unknown_dependencies(context, used.after, owner, siblings)
    if used.cluster:
        try:
            await _destination(context, used.cluster, owner)
        except Invalid as error:
            problems += error.problems
    return problems


async def _wherever_it_runs(
    context: Context, spec: JobSpec, owner: str, known: Mapping[str, str], carried: Collection[str]
) -> tuple[list[Problem], JobSpec]:
    """The problems that the job has on every cluster, and the spec with the ids of the jobs that it depends on."""
    problems = []
    if spec.package is not None and await context.store.package(spec.package, owner) is None:
        problems.append(Problem("package", f"no package {spec.package} of {owner}", "upload the folder first"))
    problems += [problem async for problem in _missing_inputs(context, spec, owner)]
    problems += await missing_secrets(context, spec.secrets, owner, carried)
    spec, unmet = await resolved(context, spec, owner, known)
    return [*problems, *unmet], spec


async def _destination(context: Context, named: str | None, owner: str) -> tuple[str, VirtualCluster | None]:
    """The physical cluster and the virtual one: the one that the job names, or the default for jobs that name the
    physical cluster. Raises Invalid; a cluster that the owner may not use is refused like one that does not exist."""
    name = await chosen_cluster(context, named, owner)
    vc = context.config.virtual.get(name)
    if vc is None:
        vc = context.config.virtual.get(DEFAULT)
        vc = vc if vc is not None and vc.cluster == name else None
    cluster = name if vc is None else vc.cluster
    has_offer = is_destination_offered(context, name)
    if has_offer and is_open_to_all(context, cluster) and (vc is None or is_open(vc)):
        return cluster, vc  # most are, and need no look-up of the user
    user = await context.store.user(owner)
    message = f"there is no cluster {name!r}"
    if has_offer and (vc is None or may_use(vc, user or NOBODY)) and may_know(context, user or NOBODY, cluster):
        if is_switched_off(context, cluster):
            message = f"cluster {cluster} is switched off"
        elif is_removed(context, cluster):
            message = f"the file of cluster {cluster} was removed, so that it takes no more jobs"
        else:
            return cluster, vc
    usable = known_clusters(context, user)
    hint = f"known clusters: {usable}" if usable else advice(context, user)
    raise Invalid(message, problems=(Problem("cluster", message, hint),))


async def _refusals(
    context: Context, cluster: str, vc: VirtualCluster | None, spec: JobSpec, owner: str, carried: Collection[str]
) -> list[Problem]:
    """The problems that the job has on this cluster only."""
    problems = [*context.backends[cluster].cannot_honour(spec), *_refused_sharing(context, cluster, vc, spec)]
    accounts = context.backends[cluster].capabilities.accounts
    if accounts is not None and (without_account := accounts.refusal(owner)) is not None:
        problems.append(without_account)
    problems += await _closed_folders(context, cluster, spec, owner)
    problems += await _unsafe_places(context, cluster, spec, owner)
    if spec.runtime.pull_secret not in carried:
        problems += await pull_secret_problems(context, spec.runtime.pull_secret, owner)
    if spec.package_place is not None and not problems:
        problems += await package_problems(context, cluster, spec.package_place, owner)
    if not context.backends[cluster].capabilities.secrets:
        problems += _without_secrets(cluster, spec)
    return problems


def _without_secrets(cluster: str, spec: JobSpec) -> Iterator[Problem]:
    """What the job needs secrets for, on a cluster that cannot give any to tasks."""
    for key, what, is_used in (
        ("secrets", "secrets", bool(spec.secrets)),
        ("runtime.pullSecret", "secrets", spec.runtime.pull_secret is not None),
        ("ssh", "keys", spec.ssh is not None),
    ):
        if is_used:
            yield Problem(key, f"cluster {cluster} cannot give {what} to tasks", "use a cluster that can")


def _refused_sharing(context: Context, cluster: str, vc: VirtualCluster | None, spec: JobSpec) -> list[Problem]:
    if vc is not None:
        return refusals(spec, vc)
    if spec.preemptible or not context.config.of(cluster):
        return []
    hint = "name a virtual cluster that allows it"
    return [
        Problem("preemptible", "a job outside the virtual clusters uses idle resources, and must be preemptible", hint)
    ]


async def _closed_folders(context: Context, cluster: str, spec: JobSpec, owner: str) -> list[Problem]:
    settings = context.backends[cluster].settings
    used = [(key, path, settings.folder(folder_name(path, settings) or "")) for key, path in folder_paths(spec)]
    closed = [(key, path, folder) for key, path, folder in used if folder is not None and not is_open(folder)]
    if not closed:
        return []
    user = await context.store.user(owner)
    refused = [(key, path) for key, path, folder in closed if user is None or not may_use(folder, user)]
    return [
        Problem(key, f"{owner} may not use {path}", "ask an admin")
        if path.startswith("/")
        else unknown_folder(key, path, settings)
        for key, path in refused
    ]


async def _unsafe_places(context: Context, cluster: str, spec: JobSpec, owner: str) -> list[Problem]:
    """A cluster that does not isolate tasks is for admins, and for users whom an admin trusts."""
    isolation = context.backends[cluster].capabilities.isolation
    problem = isolation.refusal(spec, owner) if isolation is not None else None
    if problem is None:
        return []
    user = await context.store.user(owner)
    return [] if user is not None and user.is_admin else [problem]


def _require_room(context: Context, vc: VirtualCluster, owner: str, count: int) -> None:
    """Raise Conflict if the queue is full."""
    for limit, used, whose in _queue_limits(context, vc, owner):
        if used + count > limit:
            raise Conflict(
                f"the queue of {vc.name} is full: {whose} {used} jobs in it, {limit} are allowed, {count} came",
                hint="wait until some have started; `muster get quota` shows the limits",
            )


def _places_in_queue(context: Context, vc: VirtualCluster, owner: str) -> list[int]:
    return [limit - used for limit, used, _ in _queue_limits(context, vc, owner)]


def _queue_limits(context: Context, vc: VirtualCluster, owner: str) -> Iterator[tuple[int, int, str]]:
    """How many jobs may be in the queue, how many are, and whose. They are counted only if there is a limit, which
    keeps the count small."""
    of_all, of_each = vc.limits.queued_jobs, vc.user_limits.queued_jobs
    if of_all is None and of_each is None:
        return
    queued = in_queue((entry.job for entry in context.open_jobs.entries()), vc.name)
    if of_each is not None:
        yield of_each, sum(job.owner == owner for job in queued), f"{owner} has"
    if of_all is not None:
        yield of_all, len(queued), "there are"
