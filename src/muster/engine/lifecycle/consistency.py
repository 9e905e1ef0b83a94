"""Checks the scheduler's long-lived state against the store, by building a second state from the store.

It is meant for tests and for debugging, as it reads every open job. In the middle of a step it would report what is
under way, such as a start that is planned and not written yet.
"""

from collections import defaultdict

from muster.domain.jobs import Queued
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.lifecycle.dependencies import demand_in_queue
from muster.engine.lifecycle.reconciling import allocated_since, demand_of_attempt, slots_of
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import Slot


async def differences(context: Context) -> list[str]:
    """Describes where the two states disagree. The list is empty if they agree."""
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
        elif (since := allocated_since(job, tasks[job.id])) is not None:
            states[job.cluster].holds(demand_of_attempt(context, job), slots_of(context, job, tasks[job.id]), since)
    return states


def _compared(context: Context, live: ClusterState, stored: ClusterState) -> list[str]:
    found = [
        f"{what} of {job_id} on {live.name}: {in_memory.get(job_id)} in memory, {in_store.get(job_id)} in the store"
        for what, in_memory, in_store in (
            ("allocation", _allocations(live), _allocations(stored)),
            ("queue", _queue(live), _queue(stored)),
        )
        for job_id in sorted(in_memory.keys() | in_store.keys())
        if in_memory.get(job_id) != in_store.get(job_id)
    ]
    for node in context.schedulable_nodes(live.name):
        slots = [slot for one in live.allocations.by_job.values() for slot in one.slots if slot.node == node.name]
        held = sum(slot.resources.cpu_m for slot in slots)
        if live.used(node.name)[0] != held:
            found.append(f"{node.name}: {live.used(node.name)[0]} is allocated, jobs have {held}")
    return found


def _allocations(cluster: ClusterState) -> dict[str, tuple[str, frozenset[Slot]]]:
    """The virtual cluster and slots of every job that occupies its nodes. Preempted jobs still do, and jobs that wait
    for their slots do not yet."""
    allocations = cluster.allocations
    occupying = {job_id: one for job_id, one in allocations.by_job.items() if one.blocked_by is None}
    return {job_id: (one.job.vc, frozenset(one.slots)) for job_id, one in (occupying | allocations.preempted).items()}


def _queue(cluster: ClusterState) -> dict[str, str]:
    """The virtual cluster of every waiting job, whatever it waits for."""
    waiting = {job_id: waiting.job.vc for job_id, waiting in cluster.queue.lanes.jobs.items()}
    parked = {job_id: job.vc for job_id, job in cluster.queue.parked.items()}
    by_job = cluster.allocations.by_job
    blocked = {job_id: one.job.vc for job_id, one in by_job.items() if one.blocked_by is not None}
    return waiting | parked | blocked
