"""Where not to try again: nodes on which the last try failed for reasons of their own, if others can hold the gang.

Not remembered over a restart, and not for longer than one try: a node is rarely ill for ever.
"""

from collections.abc import Iterable
from dataclasses import replace

from muster.domain.tasks import Task, TaskFailed, TaskLost
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.scheduling.demand import JobDemand


def to_blame(tasks: Iterable[Task]) -> frozenset[str]:
    """Nodes whose own faults, not the job's, ended a task."""
    return frozenset(
        task.placement.node
        for task in tasks
        if isinstance(task.state, TaskFailed | TaskLost) and not task.state.fault.counts_against_retries
    )


def elsewhere(context: Context, entry: Entry, demand: JobDemand) -> JobDemand:
    """The same demand without the nodes of the last failed try; with them where no others that answer would do."""
    if not entry.avoid or context.engine(entry.job.cluster) is not None:
        return demand
    without = replace(demand.where, not_nodes=tuple(sorted({*demand.where.not_nodes, *entry.avoid})))
    silent = {node.name for node in context.nodes(entry.job.cluster) if not node.is_usable}
    others = replace(without, not_nodes=tuple(sorted({*without.not_nodes, *silent})))
    is_possible = context.clusters[entry.job.cluster].never_fits(replace(demand, where=others)) is None
    return replace(demand, where=without) if is_possible else demand
