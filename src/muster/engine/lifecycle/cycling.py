"""The scheduling loop: it wakes when something has changed, plans, and carries the plan out."""

import asyncio

import structlog

from muster.engine.context import Context
from muster.engine.lifecycle.launching import launch
from muster.engine.lifecycle.preempting import begin_preempting
from muster.ports.capabilities import AgingPool
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.plan import Plan

_log = structlog.get_logger("engine.cycling")


async def run_cycles(context: Context) -> None:
    timer: asyncio.TimerHandle | None = None
    while True:
        await context.wake.wait()
        context.wake.clear()
        if context.is_held:
            continue
        if timer is not None:
            timer.cancel()
        try:
            wake_at = cycle_once(context)
        except Exception:
            _log.exception("cycle failed")  # the next event finds the loop alive
            continue
        if wake_at is not None:
            delay_s = max(0.0, wake_at - context.clock())
            timer = asyncio.get_running_loop().call_later(delay_s, context.wake.set)


def cycle_once(context: Context) -> float | None:
    """Plan every cluster once. Returns when the next job that backs off is due."""
    now = context.clock()
    wake_at: float | None = None
    for cluster in context.clusters.values():
        if _looks_first(context, cluster):
            continue
        plan = cluster.cycle(now)
        carry_out(context, cluster, plan)
        if cluster.is_short and context.engine(cluster.name) is not None:
            context.engine_needed.set()
        if plan.wake_at is not None:
            wake_at = plan.wake_at if wake_at is None else min(wake_at, plan.wake_at)
    return wake_at


def _looks_first(context: Context, cluster: ClusterState) -> bool:
    """Whether nothing is planned before the engine has said anew what others use. It is asked once, however many jobs
    come meanwhile."""
    engine = context.engine(cluster.name)
    if not isinstance(engine, AgingPool) or not cluster.is_short:
        return False
    if cluster.name in context.looking:
        return True
    if engine.may_hand_over(len(cluster.queue)):
        return False
    context.looking.add(cluster.name)
    context.spawn(_look(context, cluster.name), f"look at {cluster.name}")
    return True


async def _look(context: Context, cluster: str) -> None:
    try:
        engine = context.engine(cluster)
        if engine is not None:
            await engine.look(context.poll_waiting_s)
    finally:
        context.looking.discard(cluster)
        context.wake.set()


def carry_out(context: Context, cluster: ClusterState, plan: Plan) -> None:
    for preemption in plan.preemptions:
        begin_preempting(context, cluster, preemption)
    for start in plan.starts:
        context.spawn(launch(context, cluster, start), f"launch {start.job_id}")
