"""What of each node Muster's own jobs hold, and what jobs of others."""

from collections import Counter
from collections.abc import Iterable, Mapping

from muster.backends.slurm.answers.amounts import Amounts, total
from muster.backends.slurm.answers.job_records import Held
from muster.backends.slurm.answers.node_tables import NodeRecord
from muster.backends.slurm.answers.queries import Jobs
from muster.backends.slurm.gang_marks import GangMarks
from muster.domain.nodes import EngineUse, OthersUse


def own_use(gangs: Iterable[GangMarks], jobs: Jobs) -> dict[str, Amounts]:
    """What the jobs of these gangs hold, by node."""
    found: dict[str, Amounts] = {}
    for gang in gangs:
        job = jobs.get(gang.job)
        if job is not None and job.is_allocated:
            for node, amounts in _gang_use(gang, job.held).items():
                found[node] = total((found.get(node, Amounts()), amounts))
    return found


def engine_use(record: NodeRecord, own: Amounts) -> EngineUse:
    gpus = sum(record.used_gpus.values())
    # If Slurm says how many GPUs are in use, and not which, the first ones are shown as such.
    indices = record.used_indices if len(record.used_indices) == gpus else tuple(range(gpus))
    others = OthersUse(
        max(0, record.used_cpus - own.cpus) * 1000,
        max(0, record.used_memory_bytes - own.memory_bytes),
        max(0, gpus - own.gpu_count),
    )
    return EngineUse(record.used_cpus * 1000, record.used_memory_bytes, indices, others)


def _gang_use(gang: GangMarks, parts: Iterable[Held]) -> dict[str, Amounts]:
    """Slurm tells CPUs and memory of all nodes of a job together, and GPUs only with accounting: which task has how
    many of them, Muster knows itself."""
    begun = [(task.begin.node, task.role) for task in gang.tasks if task.begin is not None]
    tasks, gpus = Counter(node for node, _ in begun), Counter[str]()
    for node, role in begun:
        gpus[node] += gang.task_gpus.get(role, 0)
    found: dict[str, Amounts] = {}
    for held in parts:
        for node, share in _shares(held.nodes, tasks).items():
            cpus, memory_bytes = round(held.amounts.cpus * share), round(held.amounts.memory_bytes * share)
            tracked = round(held.amounts.gpu_count * share)
            found[node] = total((found.get(node, Amounts()), Amounts(cpus, memory_bytes, {"": tracked})))
    return {
        node: Amounts(amounts.cpus, amounts.memory_bytes, {"": max(gpus[node], amounts.gpu_count)})
        for node, amounts in found.items()
    }


def _shares(nodes: Iterable[str], tasks: Mapping[str, int]) -> dict[str, float]:
    """Which part of a job is on each of its nodes: by where its tasks are, or evenly until they have begun."""
    here = {node: tasks.get(node, 0) for node in nodes}
    weights = here if all(here.values()) else dict.fromkeys(here, 1)
    return {node: weight / sum(weights.values()) for node, weight in weights.items()}
