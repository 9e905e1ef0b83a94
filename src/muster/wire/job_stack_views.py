"""Collected stacks in answers."""

from muster.api.job_stacks import StacksOut, TaskStacksOut
from muster.domain.job_stacks import Stacks, TaskStacks
from muster.lib.clock import iso


def stacks_view(stacks: Stacks) -> StacksOut:
    return {
        "at": iso(stacks.at),
        "by": stacks.by,
        "attempt": stacks.attempt,
        "tasks": [_task(one) for one in stacks.tasks],
        "leftOut": stacks.left_out,
    }


def _task(stacks: TaskStacks) -> TaskStacksOut:
    return {"task": stacks.task, "node": stacks.node, "text": stacks.text, "problem": stacks.problem}
