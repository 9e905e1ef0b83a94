"""Stops running members of a sweep that do worse than others, as its spec says."""

import asyncio

from muster.domain.experiments.sweep_progress import Progress
from muster.domain.experiments.sweep_stopping import early_stops
from muster.domain.experiments.sweeps import SweepPlan
from muster.domain.jobs import Outcome, Running, Verdict
from muster.engine.context import Context
from muster.engine.lifecycle.completion import stop
from muster.engine.state.open_sweeps import MemberCurve, OpenSweep

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
    members = {number: one.progress for number, one in entry.curves.items()}
    found = await asyncio.to_thread(early_stops, plan.stop_early, plan.goal, members, list(running))
    for member, reason in found.items():
        one = running[member]
        async with one.lock:
            if isinstance(one.job.state, Running):
                await stop(context, one, Verdict(Outcome.CANCEL, reason, by=BY), actor=BY)


async def _read_curves(context: Context, entry: OpenSweep) -> None:
    for value in await context.store.member_values(entry.sweep):
        known = entry.curves.get(value.member)
        if known is None or (known.job_id, known.attempt) != (value.job_id, value.attempt):
            known = MemberCurve(value.job_id, value.attempt, Progress(entry.sweep.plan.goal))
        if known.progress.points != value.points:
            await _read_on(context, entry.sweep.plan, known)
            # What came late, at a step before the last one, is found by its absence.
            if known.progress.points < value.points:
                known.progress = Progress(entry.sweep.plan.goal)
                await _read_on(context, entry.sweep.plan, known)
        entry.curves[value.member] = known


async def _read_on(context: Context, plan: SweepPlan, curve: MemberCurve) -> None:
    first = curve.progress.last_step if curve.progress.points else None
    found = await context.store.metric_points(curve.job_id, curve.attempt, plan.metric, first_step=first)
    points = [(point.step, point.value) for point in found]
    await asyncio.to_thread(curve.progress.continue_with, points)
