"""The commands of users: submit, kill, hold, resume, retry, delete. The server checks permissions before it calls
them."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import replace

from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import BackendError, Conflict, MusterError
from muster.domain.job_reasons import held_by, killed_by
from muster.domain.jobs import (
    GOES_ON,
    Cancelled,
    Held,
    Job,
    JobState,
    Outcome,
    Queued,
    Running,
    Starting,
    Stopping,
    Verdict,
    move,
)
from muster.domain.specs import HANDED_ON, JobSpec
from muster.engine.cluster_access import lost_access
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.data.job_secrets import NOTHING_CARRIED, Carried, with_own_secrets
from muster.engine.lifecycle.completion import stop, stop_tasks
from muster.engine.lifecycle.dependencies import queue, recheck_dependents, waits_for_others
from muster.engine.lifecycle.launching import (
    Intent,
    intend,
    launch_pending,
    planned_tasks,
    release_attempt,
)
from muster.engine.requests.admission import admit, admit_all
from muster.engine.requests.reported_runs import refuse_outside
from muster.engine.requests.respecifying import Respec, refuse_secrets_of_others, same_spec
from muster.engine.state.event_builders import audit_event, job_event
from muster.engine.state.open_jobs import Entry
from muster.ports.capabilities import AgingPool, TaskRef
from muster.ports.store import Change, RequestKey


async def submit(
    context: Context,
    spec: JobSpec,
    owner: str,
    key: RequestKey | None = None,
    *,
    actor: str | None = None,
    carried: Carried = NOTHING_CARRIED,
) -> tuple[Job, bool]:
    """Submit a job. Returns the stored job and whether it is new: a repeated request key returns the first job. The key
    is looked up before anything else, because the cluster, the limits or the package may have changed since. `carried`
    are the secrets that came in its file."""
    earlier = await context.store.job_by_request(key) if key else None
    if earlier is not None:
        return earlier, False
    job, secrets = await with_own_secrets(context, await admit(context, spec, owner, carried), carried)
    intent = await _intent_at_once(context, job)
    change = replace(_submission(job, actor or owner, key), secrets=secrets)
    if intent is not None:
        change = replace(change, new_job=intent.job, tasks=intent.tasks, events=[*change.events, intent.event()])
    try:
        await context.apply(change)
    except BaseException as error:
        if intent is not None:
            release_attempt(context, job, intent.tasks)
        earlier = await context.store.job_by_request(key) if key and isinstance(error, Conflict) else None
        if earlier is None:
            raise
        return earlier, False
    if intent is None:
        _enter(context, job)
        return job, True
    entry = context.open_jobs.add(intent.job, intent.tasks)
    entry.launched.clear()
    context.spawn(launch_pending(context, entry), f"launch {job.id}")
    await asyncio.sleep(0)  # the launch goes out before the answer does
    return intent.job, True


async def _intent_at_once(context: Context, job: Job) -> Intent | None:
    """The intent of a job that can start at once, which is written together with the submission, by one fsync."""
    if context.is_held or not isinstance(job.state, Queued) or waits_for_others(job):
        return None
    engine = context.engine(job.cluster)
    if isinstance(engine, AgingPool) and not engine.may_hand_over(1):
        return None  # the next cycle looks first
    start = context.clusters[job.cluster].start_at_once(context.demand_of(job), context.clock())
    if start is None:
        return None
    try:
        return await intend(context, job, start)
    except BaseException as error:
        release_attempt(context, job, planned_tasks(context, job, start))
        if isinstance(error, BackendError):
            return None  # it waits in the queue like any other, and is tried from there
        raise


async def submit_all(
    context: Context,
    specs: Sequence[JobSpec],
    owner: str,
    key: RequestKey | None = None,
    *,
    carried: Sequence[Carried] = (),
) -> tuple[list[Job], bool]:
    """Submit all jobs or none, in one transaction. Returns whether they are new, as `submit` does. They may wait for
    each other, in any order. `carried` are the secrets that came with each of them."""
    keys = [replace(key, key=f"{key.key}:{number}") if key else None for number in range(len(specs))]
    if keys[0] is not None and await context.store.job_by_request(keys[0]) is not None:
        return await _made_before(context, keys), False
    jobs = await admit_all(context, specs, owner, carried=carried)
    own = [
        await with_own_secrets(context, job, one) for job, one in zip(jobs, carried or [{}] * len(jobs), strict=True)
    ]
    jobs = [job for job, _ in own]
    try:
        await context.apply_all(
            [
                replace(_submission(job, owner, one), secrets=secrets)
                for (job, secrets), one in zip(own, keys, strict=True)
            ]
        )
    except Conflict:
        found = await _made_before(context, keys)
        if not found or len(found) < len(specs):
            raise
        return found, False
    for job in jobs:
        _enter(context, job)
    return jobs, True


async def _made_before(context: Context, keys: Sequence[RequestKey | None]) -> list[Job]:
    earlier = [await context.store.job_by_request(key) for key in keys if key]
    return [job for job in earlier if job is not None]


async def kill(context: Context, job_id: str, actor: str, grace_s: float | None = None) -> Job:
    entry = await open_entry(context, job_id, "kill")
    async with entry.lock:
        job = entry.job
        if isinstance(job.state, Queued | Held):
            return await _leave_queue(
                context, entry, Cancelled(context.clock(), actor), killed_by(actor), actor, "job.kill"
            )
        if job.is_final:
            raise Conflict(f"job {job.name} has already ended ({job.state_name})")
        verdict = Verdict(Outcome.CANCEL, killed_by(actor), by=actor)
        audit = audit_event("job.kill", actor, context.clock(), job=job)
        if isinstance(job.state, Stopping) and job.state.verdict.outcome not in GOES_ON:
            await context.apply(Change(events=[audit]))
            left = [task.id for task in entry.current_tasks() if not task.has_ended]
            context.spawn(stop_tasks(context, entry, left, grace_s), f"stop {job.id}")
        else:
            await stop(context, entry, verdict, events=[audit], actor=actor, grace_s=grace_s)
        return entry.job


async def hold(context: Context, job_id: str, actor: str) -> Job:
    """Hold a job until it is resumed. A running job is stopped first, and loses what it has not saved."""
    entry = await open_entry(context, job_id, "hold")
    async with entry.lock:
        job = entry.job
        if isinstance(job.state, Held):
            return job
        if isinstance(job.state, Queued):
            return await _leave_queue(context, entry, Held(context.clock(), actor), held_by(actor), actor, "job.hold")
        is_preempted = isinstance(job.state, Stopping) and job.state.verdict.outcome is Outcome.PREEMPT
        if not isinstance(job.state, Starting | Running) and not is_preempted:
            raise Conflict(f"job {job.name} is {job.state_name} and cannot be held")
        audit = audit_event("job.hold", actor, context.clock(), job=job)
        verdict = Verdict(Outcome.HOLD, held_by(actor), by=actor)
        await stop(context, entry, verdict, events=[audit], actor=actor)
        return entry.job


async def resume(context: Context, job_id: str, actor: str) -> Job:
    entry = await open_entry(context, job_id, "resume")
    async with entry.lock:
        if not isinstance(entry.job.state, Held):
            raise Conflict(f"job {entry.job.name} is {entry.job.state_name}, not Held")
        await _require_place(context, entry.job)
        now = context.clock()
        job = move(entry.job, Queued(now), reason="")
        await context.apply(
            Change(job=job, events=[audit_event("job.resume", actor, now, job=job), job_event(job, now, actor=actor)])
        )
        entry.job = job
        queue(context, entry)
        return job


async def _require_place(context: Context, job: Job) -> None:
    """The cluster may have gone since the job was held, or its owner may have lost access to it."""
    why = await lost_access(context, job)
    if why is None and job.cluster not in context.clusters:
        why = f"there is no cluster {job.cluster} any more"
    if why is not None:
        raise Conflict(f"job {job.name} cannot wait there: {why}", hint=f"muster move {job.name} --to CLUSTER")


async def retry(
    context: Context,
    job: Job,
    actor: str,
    key: RequestKey | None = None,
    respec: Respec = same_spec,
    carried: Carried = NOTHING_CARRIED,
) -> tuple[Job, bool]:
    """Submit a new job of the same owner with the same spec, or what `respec` makes of it. Returns it and whether it is
    new. It runs even if the first was submitted as held. The key is checked first, because in a repeated call the name
    already means the new job."""
    earlier = await context.store.job_by_request(key) if key else None
    if earlier is not None:
        return earlier, False
    refuse_outside(job, "retry")
    if not job.is_final:
        raise Conflict(f"job {job.name} is still {job.state_name}", hint="kill it first, or wait for its end")
    before = replace(job.spec, held=False, handed_on=None, labels=_own_labels(job.spec))
    spec = respec(before)
    if spec is not before:
        refuse_secrets_of_others(job, spec, actor)
    return await submit(context, spec, job.owner, key, actor=actor, carried=carried)


def _own_labels(spec: JobSpec) -> dict[str, str]:
    """The labels without the one by which another server finds the job, which is not to find its copies."""
    return {name: value for name, value in spec.labels.items() if name != HANDED_ON}


async def delete(context: Context, job: Job, actor: str) -> None:
    """Delete the history, logs, outputs and task folders of an ended job. The audit trail stays."""
    if not job.is_final and not job.is_elsewhere:
        raise Conflict(f"job {job.name} is still {job.state_name}", hint=f"`muster kill {job.name}` first")
    tasks = await context.store.tasks(job.id)
    now = context.clock()
    await context.apply(Change(removed_job=job.id, events=[audit_event("job.delete", actor, now, job=job)]))
    context.reported_data.removed(job.owner)
    recheck_dependents(context, job.id)
    shutil.rmtree(context.logs / job.id, ignore_errors=True)
    outputs.remove(context, job.id)
    context.kept_data.forget(job.id, job.owner)
    backend = context.backends.get(job.cluster)
    if backend is None or (cleanup := backend.capabilities.cleanup) is None:
        return
    for task in tasks:
        try:
            await cleanup.forget(TaskRef.of(task))
        except MusterError:
            continue  # the node is unreachable; the folder is removed when the node is cleaned


def _submission(job: Job, actor: str, key: RequestKey | None) -> Change:
    now = job.created_at
    return Change(
        new_job=job,
        request_key=key,
        events=[audit_event("job.submit", actor, now, job=job), job_event(job, now, actor=actor)],
    )


def _enter(context: Context, job: Job) -> None:
    entry = context.open_jobs.add(job)
    if isinstance(job.state, Queued):
        queue(context, entry)


async def open_entry(context: Context, job_id: str, what: str) -> Entry:
    """The job in memory. Raises Conflict if it has ended."""
    entry = context.open_jobs.get(job_id)
    if entry is None:
        job = await context.store.job(job_id)
        refuse_outside(job, what)
        raise Conflict(f"job {job.name} has already ended ({job.state_name}): there is nothing to {what}")
    return entry


async def _leave_queue(
    context: Context, entry: Entry, state: JobState, reason: str, actor: str, what: AuditKind
) -> Job:
    now = context.clock()
    job = move(entry.job, state, reason=reason)
    events = [audit_event(what, actor, now, job=job), job_event(job, now, actor=actor)]
    await context.apply(Change(job=job, events=events))
    entry.job = job
    if cluster := context.clusters.get(job.cluster):
        cluster.unqueued(job.id)
        cluster.released(job.id)  # a cycle may have planned it meanwhile
    if job.is_final:
        context.open_jobs.remove(job.id)
        recheck_dependents(context, job.id)
    context.wake.set()
    return job
