"""Keeps the next attempt off the nodes that made the last one fail, if the gang fits on others.

The exclusion holds for one attempt and is not kept over a restart, because a node is rarely broken for ever.
"""

from collections.abc import Iterable
from dataclasses import replace

from muster.domain.tasks import Task, TaskFailed, TaskLost
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.scheduling.demand import JobDemand


def failed_nodes(tasks: Iterable[Task]) -> frozenset[str]:
    """The nodes on which a task ended through a fault of the platform, not of the job."""
    return frozenset(
        task.placement.node
        for task in tasks
        if isinstance(task.state, TaskFailed | TaskLost) and not task.state.fault.counts_against_retries
    )


def excluding_failed_nodes(context: Context, entry: Entry, demand: JobDemand) -> JobDemand:
    """The demand without the nodes of the last failed attempt. They stay allowed if the reachable others do not
    suffice."""
    if not entry.avoid or context.engine(entry.job.cluster) is not None:
        return demand
    without = replace(demand.where, not_nodes=tuple(sorted({*demand.where.not_nodes, *entry.avoid})))
    silent = {node.name for node in context.nodes(entry.job.cluster) if not node.is_usable}
    others = replace(without, not_nodes=tuple(sorted({*without.not_nodes, *silent})))
    is_possible = context.clusters[entry.job.cluster].never_fits(replace(demand, where=others)) is None
    return replace(demand, where=without) if is_possible else demand
