"""What is in use on the nodes of an engine that places tasks itself."""

from collections.abc import Iterable

from muster.domain.nodes import EngineUse, Node
from muster.domain.tasks import Task
from muster.engine.context import Context


def allocated(context: Context, node: Node, use: EngineUse, tasks: Iterable[Task]) -> tuple[int, int]:
    """CPU and memory. Tasks that have begun there since the engine was asked are counted by what they ask for."""
    cpu_m, memory_bytes = use.others.cpu_m, use.others.memory_bytes
    for task in tasks:
        if (entry := context.open_jobs.get(task.job_id)) is not None:
            counted = context.counted(node.cluster, entry.job.spec.role(task.role).resources)
            cpu_m, memory_bytes = cpu_m + counted.cpu_m, memory_bytes + counted.memory_bytes
    whole = node.capacity
    return max(use.cpu_m, min(cpu_m, whole.cpu_m)), max(use.memory_bytes, min(memory_bytes, whole.memory_bytes))
