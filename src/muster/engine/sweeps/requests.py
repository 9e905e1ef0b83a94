"""What users ask of sweeps: submit, stop and read them. The server checks permissions before it calls them."""

import secrets
from dataclasses import replace

from muster.domain.errors import Conflict, MusterError
from muster.domain.experiments.sweeps import Sweep, SweepPlan
from muster.domain.specs import JobSpec
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.engine.state.open_sweeps import OpenSweep
from muster.engine.sweeps.members import enter, next_members, room_in
from muster.lib.ids import new_id
from muster.ports.store import Change, RequestKey

_SEEDS = 1 << 32


def planned(context: Context, spec: JobSpec, plan: SweepPlan, owner: str) -> Sweep:
    """A sweep as it would be submitted. Random values follow from a seed, which is chosen here if need be."""
    if plan.random and plan.seed < 0:
        plan = replace(plan, seed=secrets.randbelow(_SEEDS))
    return Sweep(new_id(), owner, spec, plan, context.clock(), version=0)


async def submit(
    context: Context, spec: JobSpec, plan: SweepPlan, owner: str, key: RequestKey | None
) -> tuple[Sweep, bool]:
    """Submit a sweep. It is stored with its first members, all or nothing; the others follow. Returns it and whether it
    is new: a repeated request key returns the first one."""
    earlier = await context.store.sweep_by_request(key) if key else None
    if earlier is not None:
        return earlier, False
    sweep = planned(context, spec, plan, owner)
    made = await next_members(context, sweep, room_in(context, sweep))
    event = audit_event("sweep.submit", owner, sweep.created_at, name=sweep.name, sweep=sweep.id, members=plan.count)
    try:
        await context.apply_all([Change(new_sweep=made.sweep, sweep_key=key, events=[event]), *made.changes()])
    except Conflict:
        earlier = await context.store.sweep_by_request(key) if key else None
        if earlier is None:
            raise
        return earlier, False
    except MusterError as error:
        context.open_sweeps[sweep.id] = OpenSweep(made.sweep, waits_for=str(error), is_certain=False)
        context.open_jobs.member_ended.set()
        raise
    context.open_sweeps[sweep.id] = OpenSweep(made.sweep)
    enter(context, made)
    context.open_jobs.member_ended.set()
    return made.sweep, True


async def stop(context: Context, sweep_id: str, actor: str) -> Sweep:
    """Make no more members, and stop those that have not ended. To stop it again changes nothing."""
    entry = context.open_sweeps.get(sweep_id)
    if entry is None:
        sweep = await context.store.sweep(sweep_id)
        if sweep.stopped_by:
            return sweep
        raise Conflict(f"sweep {sweep.name} has already ended")
    async with entry.lock:
        sweep = entry.sweep
        if sweep.stopped_by or sweep.ended_at is not None:
            return sweep
        stopped = replace(sweep, stopped_by=actor, version=sweep.version + 1)
        event = audit_event("sweep.stop", actor, context.clock(), name=sweep.name, sweep=sweep.id)
        await context.apply(Change(sweep=stopped, events=[event]))
        entry.sweep = stopped
    context.open_jobs.member_ended.set()
    return stopped


def waits_for(context: Context, sweep: Sweep) -> str:
    """Why the rest of its members is not made yet; empty if there is no more to come."""
    entry = context.open_sweeps.get(sweep.id)
    if entry is None or not sweep.wants_more:
        return ""
    if entry.waits_for:
        return entry.waits_for
    if sweep.plan.max_running is not None:
        return f"{sweep.plan.max_running} members are in the queue or run at once, as `maxRunning` says"
    return "they are being made"
