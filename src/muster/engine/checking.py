"""Does the scheduler's long-lived state say what the store says? A second one is built from the store and compared.

For tests and for doubt: it reads every open job. Asked in the middle of a step it would find what is under way: a
planned start that is not written yet, a gang that is leaving for one that waits for its places.
"""

from collections import defaultdict

from muster.domain.jobs import Queued
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.dependencies import demand_in_queue
from muster.engine.reconciling import slots_of, standing_since
from muster.scheduling.demand import demand_of
from muster.scheduling.state import ClusterState


async def differences(context: Context) -> list[str]:
    """Where the two disagree, in words; empty when all is well."""
    rebuilt = await _rebuilt(context)
    return [line for name, live in context.clusters.items() for line in _compared(context, live, rebuilt[name])]


async def _rebuilt(context: Context) -> dict[str, ClusterState]:
    states = {name: ClusterState(name) for name in context.clusters}
    for name, state in states.items():
        state.configured(context.sharing.of(name))
        for node in context.backends[name].nodes():
            state.node_changed(node)
    tasks: dict[str, list[Task]] = defaultdict(list)
    for task in await context.store.open_tasks():
        tasks[task.job_id].append(task)
    for job in await context.store.open_jobs():
        if job.cluster not in states:
            continue
        if isinstance(job.state, Queued):
            entry = context.roster.get(job.id)
            states[job.cluster].queued(demand_in_queue(context, entry) if entry else demand_of(job))
        elif (since := standing_since(job, tasks[job.id])) is not None:
            states[job.cluster].holds(demand_of(job), slots_of(job, tasks[job.id]), since)
    return states


def _compared(context: Context, live: ClusterState, stored: ClusterState) -> list[str]:
    now = context.clock()
    found = []
    for node in context.backends[live.name].nodes():
        if live.used(node.name) != stored.used(node.name):
            found.append(f"{node.name}: {live.used(node.name)} in memory, {stored.used(node.name)} in the store")
    if live.waiting != stored.waiting:
        found.append(f"{live.name}: {live.waiting} wait in memory, {stored.waiting} in the store")
    shares = {share.vc: (share.used, share.running, share.waiting) for share in live.shares(now)}
    for share in stored.shares(now):
        if shares.get(share.vc) != (share.used, share.running, share.waiting):
            found.append(f"{share.vc}: {shares.get(share.vc)} in memory, {share} in the store")
    return found
