"""Decides whether a failure counts against the user or the platform.

A task that fails while another node of its gang is unreachable has probably lost its peer, which is not its user's
fault.
"""

from collections.abc import Sequence
from dataclasses import replace

from muster.domain.completion import failure_verdict
from muster.domain.failures.exit_causes import LOST
from muster.domain.jobs import Job, Verdict
from muster.domain.tasks import Task, TaskFailed, TaskLost
from muster.engine.context import Context


def attributed(context: Context, job: Job, tasks: Sequence[Task], verdict: Verdict) -> Verdict:
    """The verdict, counted against the platform if another node of the gang is unreachable. Peers may see their
    connections reset before the server knows what has become of that node."""
    fault = verdict.fault
    if fault is None or not fault.counts_against_retries:
        return verdict
    failed = {task.placement.node for task in tasks if isinstance(task.state, TaskFailed)}
    others = [task for task in tasks if task.placement.node not in failed]
    unreachable = next((task.placement.node for task in others if _is_unreachable(context, job, task)), None)
    if unreachable is None:
        return verdict
    cause = f"Node {unreachable} was unreachable when {fault.task} failed: {fault.cause}"
    words = {"node": unreachable, "failed": fault.task or "", "message": fault.cause}
    return failure_verdict(job, replace(LOST.fault(), cause=cause, task=fault.task, words=words))


def _is_unreachable(context: Context, job: Job, task: Task) -> bool:
    if task.has_ended:
        return isinstance(task.state, TaskLost)
    return (job.cluster, task.placement.node) in context.unconfirmed_nodes
