"""Stops running members of a sweep that do worse than others, as its spec says."""

from muster.domain.experiments.sweep_stopping import early_stops
from muster.domain.jobs import Outcome, Running, Verdict
from muster.engine.context import Context
from muster.engine.lifecycle.completion import stop
from muster.engine.state.open_sweeps import OpenSweep

BY = "sweep"
"""Who stopped the member, in its events."""


async def stop_behind(context: Context, entry: OpenSweep) -> None:
    """Only curves that have grown since the last look are read."""
    plan = entry.sweep.plan
    if plan.stop_early is None or entry.sweep.stopped_by:
        return
    running = {
        one.job.member: one
        for one in context.open_jobs.members_of(entry.sweep.id)
        if isinstance(one.job.state, Running)
    }
    if not running:
        return
    await _read_curves(context, entry)
    curves = {member: curve for member, (_, curve) in entry.curves.items()}
    for member, reason in early_stops(plan.stop_early, plan.goal, curves, running).items():
        one = running[member]
        async with one.lock:
            if isinstance(one.job.state, Running):
                await stop(context, one, Verdict(Outcome.CANCEL, reason, by=BY), actor=BY)


async def _read_curves(context: Context, entry: OpenSweep) -> None:
    for value in await context.store.member_values(entry.sweep):
        known = value.job_id, value.attempt, value.points
        if entry.curves.get(value.member, ((), ()))[0] == known:
            continue
        points = await context.store.metric_points(value.job_id, value.attempt, entry.sweep.plan.metric)
        curve = [(point.step, point.value) for point in points]
        entry.curves[value.member] = known, curve
