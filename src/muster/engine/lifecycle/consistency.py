"""Does the scheduler's long-lived state say what the store says? A second one is built from the store and compared.

For tests and for doubt: it reads every open job. Asked in the middle of a step it would find what is under way: a start
that is planned and not written yet.
"""

from collections import defaultdict

from muster.domain.jobs import Queued
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.lifecycle.dependencies import demand_in_queue
from muster.engine.lifecycle.reconciling import demand_of_attempt, slots_of, standing_since
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import Slot


async def differences(context: Context) -> list[str]:
    """Where the two disagree, in words; empty when all is well."""
    rebuilt = await _rebuilt(context)
    return [line for name, live in context.clusters.items() for line in _compared(context, live, rebuilt[name])]


async def _rebuilt(context: Context) -> dict[str, ClusterState]:
    states = {name: ClusterState(name) for name in context.clusters}
    for name, state in states.items():
        state.configured(context.config.of(name))
        for node in context.nodes(name):
            state.node_changed(node.in_service())
    tasks: dict[str, list[Task]] = defaultdict(list)
    for task in await context.store.open_tasks():
        tasks[task.job_id].append(task)
    for job in await context.store.open_jobs():
        if job.cluster not in states:
            continue
        if isinstance(job.state, Queued):
            entry = context.open_jobs.get(job.id)
            states[job.cluster].queued(demand_in_queue(context, entry) if entry else context.demand_of(job))
        elif (since := standing_since(job, tasks[job.id])) is not None:
            states[job.cluster].holds(demand_of_attempt(context, job), slots_of(context, job, tasks[job.id]), since)
    return states


def _compared(context: Context, live: ClusterState, stored: ClusterState) -> list[str]:
    found = [
        f"{what} of {job_id} on {live.name}: {in_memory.get(job_id)} in memory, {in_store.get(job_id)} in the store"
        for what, in_memory, in_store in (
            ("places", _places(live), _places(stored)),
            ("queue", _queue(live), _queue(stored)),
        )
        for job_id in sorted(in_memory.keys() | in_store.keys())
        if in_memory.get(job_id) != in_store.get(job_id)
    ]
    for node in context.schedulable_nodes(live.name):
        slots = [slot for one in live.allocations.by_job.values() for slot in one.slots if slot.node == node.name]
        held = sum(slot.resources.cpu_m for slot in slots)
        if live.used(node.name)[0] != held:
            found.append(f"{node.name}: {live.used(node.name)[0]} is booked, jobs have {held}")
    return found


def _places(cluster: ClusterState) -> dict[str, tuple[str, frozenset[Slot]]]:
    """Virtual cluster and places of every job that is on its nodes: those that were told to leave are still there, and
    those who wait for such places are not."""
    allocations = cluster.allocations
    there = {job_id: one for job_id, one in allocations.by_job.items() if one.blocked_by is None}
    return {job_id: (one.job.vc, frozenset(one.slots)) for job_id, one in (there | allocations.preempted).items()}


def _queue(cluster: ClusterState) -> dict[str, str]:
    """Virtual cluster of every job that waits, for whatever."""
    waiting = {job_id: waiting.job.vc for job_id, waiting in cluster.queue.lanes.jobs.items()}
    parked = {job_id: job.vc for job_id, job in cluster.queue.parked.items()}
    by_job = cluster.allocations.by_job
    blocked = {job_id: one.job.vc for job_id, one in by_job.items() if one.blocked_by is not None}
    return waiting | parked | blocked
