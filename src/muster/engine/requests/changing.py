"""Changes a waiting job: its priority, its cluster, or anything in its spec. A running job is not changed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import Conflict, Invalid, Problem
from muster.domain.jobs import Held, Job, Queued
from muster.domain.specs import Priority
from muster.engine.context import Context
from muster.engine.data.job_secrets import NOTHING_CARRIED, Carried, with_own_secrets
from muster.engine.lifecycle.dependencies import queue
from muster.engine.requests.admission import readmit
from muster.engine.requests.commands import open_entry
from muster.engine.requests.respecifying import Respec, refuse_secrets_of_others
from muster.engine.state.event_builders import audit_event, job_event
from muster.ports.store import Change


async def bump(context: Context, job_id: str, actor: str, priority: Priority, *, is_admin: bool) -> Job:
    """Change the priority. Owners may choose what their virtual cluster allows; admins may choose any."""

    async def bumped(job: Job) -> Job:
        vc = context.config.virtual.get(job.vc)
        if vc is not None and priority not in vc.priorities and not is_admin:
            hint = f"one of {', '.join(vc.priorities)}, or ask an admin"
            problem = Problem("priority", f"{priority} is not allowed in {vc.name}", hint)
            raise Invalid(f"job {job.name} cannot be {priority}", problems=(problem,))
        return replace(job, spec=replace(job.spec, priority=priority))

    return await _rewrite(context, job_id, actor, "job.bump", bumped, priority=str(priority))


async def move_to(context: Context, job_id: str, actor: str, cluster: str) -> Job:
    """Move the job to another cluster, virtual or physical, by the same rules as for a submission there."""

    async def moved(job: Job) -> Job:
        return await readmit(context, job, replace(job.spec, cluster=cluster))

    return await _rewrite(context, job_id, actor, "job.move", moved, to=cluster)


async def change(
    context: Context,
    job_id: str,
    actor: str,
    respec: Respec,
    *,
    version: int | None = None,
    carried: Carried = NOTHING_CARRIED,
    **audited: object,
) -> Job:
    """Change the spec. `respec` makes the new spec from the present one, and `audited` goes into the audit trail. With
    `version`, the job must not have changed since. `carried` are the secrets that came in the file of the new spec."""

    async def changed(job: Job) -> Job:
        if version is not None and job.version != version:
            raise Conflict(f"job {job.name} was changed meanwhile", hint="look at it as it is now, then change it")
        spec = respec(job.spec)
        refuse_secrets_of_others(job, spec, actor)
        if spec.name != job.name:
            problem = Problem("name", "a job keeps its name", "submit it anew under another name")
            raise Invalid("the job spec has 1 problem", problems=(problem,))
        return await readmit(context, job, spec, carried)

    return await _rewrite(context, job_id, actor, "job.change", changed, carried=carried, **audited)


async def _rewrite(
    context: Context,
    job_id: str,
    actor: str,
    what: AuditKind,
    rewritten: Callable[[Job], Awaitable[Job]],
    *,
    carried: Carried = NOTHING_CARRIED,
    **audited: object,
) -> Job:
    entry = await open_entry(context, job_id, what.removeprefix("job."))
    async with entry.lock:
        before = entry.job
        if not isinstance(before.state, Queued | Held):
            raise Conflict(
                f"job {before.name} is {before.state_name} and can be changed only while it waits",
                hint=f"`muster hold {before.name}` stops it; then change it, and resume it",
            )
        job, secrets = await with_own_secrets(context, await rewritten(before), carried)
        job = replace(job, version=before.version + 1)
        now = context.clock()
        events = [audit_event(what, actor, now, job=job, **audited), job_event(job, now, actor=actor)]
        await context.apply(Change(rewritten_job=job, secrets=secrets, events=events))
        context.open_jobs.respecify(entry, job)
        if (old := context.clusters.get(before.cluster)) is not None:
            old.unqueued(job.id)
            old.released(job.id)  # a cycle may have planned it meanwhile
        if isinstance(job.state, Queued):
            queue(context, entry)
        context.wake.set()
        return job
