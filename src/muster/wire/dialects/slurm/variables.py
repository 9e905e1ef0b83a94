"""The SLURM_* variables of a batch script, as far as they are true here.

As in Slurm, those that repeat an option are set only if the option was given: programs look at them to find out how
they were started.
"""

import shlex

from muster.wire.dialects.slurm.directives import Directives
from muster.wire.dialects.slurm.layout import Layout

_OF_OPTIONS = {
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
    "SLURM_NTASKS_PER_GPU": "ntasks-per-gpu",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_JOB_ACCOUNT": "account",
    "SLURM_JOB_QOS": "qos",
    "SLURM_JOB_CONSTRAINTS": "constraint",
}
_COUNTED = ({"ntasks"}, {"ntasks-per-node"}, {"ntasks-per-gpu"}, {"gpus", "gpus-per-task"})
"""Options that together say how many tasks there are."""


def variables(directives: Directives, layout: Layout, job_name: str, is_renamed: bool) -> dict[str, str]:
    """Each with the shell word that is its value, in an order in which later ones may use earlier ones."""
    per_node = str(layout.tasks_per_node) if layout.nodes == 1 else _runs(layout.tasks_of_nodes)
    cpus = str(layout.cpus_per_node) if layout.nodes == 1 else f"{layout.cpus_per_node}(x{layout.nodes})"
    found = {
        "SLURM_JOBID": "$SLURM_JOB_ID",
        "SLURM_JOB_NAME": shlex.quote(job_name) if is_renamed else _job_name(directives),
        "SLURM_JOB_USER": "$MUSTER_OWNER",
        "SLURM_JOB_PARTITION": "$MUSTER_CLUSTER",
        "SLURM_CLUSTER_NAME": "$MUSTER_CLUSTER",
        "SLURM_SUBMIT_DIR": "$PWD",
        "SLURM_JOB_NODELIST": "$MUSTER_HOSTS_WORKER",
        "SLURM_NODELIST": "$MUSTER_HOSTS_WORKER",
        "SLURMD_NODENAME": "${MUSTER_HOSTS_WORKER%%,*}",
        "SLURM_JOB_NUM_NODES": str(layout.nodes),
        "SLURM_NNODES": str(layout.nodes),
        "SLURM_TASKS_PER_NODE": shlex.quote(per_node),
        "SLURM_JOB_CPUS_PER_NODE": shlex.quote(cpus),
        "SLURM_CPUS_ON_NODE": str(layout.cpus_per_node),
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_GTIDS": "0",
        "SLURM_TASK_PID": "$$",
        "SLURM_MUSTER": "$slurm",
    }
    for name, option in _OF_OPTIONS.items():
        if (value := directives.value(option)) is not None:
            found[name] = shlex.quote(value)
    if any(options <= directives.given.keys() for options in _COUNTED):
        found |= {"SLURM_NTASKS": str(layout.tasks), "SLURM_NPROCS": str(layout.tasks)}
    if "overcommit" in directives.given or "exclusive" in directives.given:
        found["SLURM_OVERCOMMIT"] = "1"  # how many CPUs a whole node has is not known here
    if layout.gpus_per_node:
        found |= {"SLURM_GPUS_ON_NODE": str(layout.gpus_per_node), "SLURM_JOB_GPUS": "$CUDA_VISIBLE_DEVICES"}
    if layout.gpus_per_task:
        found["SLURM_GPUS_PER_TASK"] = str(layout.gpus_per_task)
    return found | _memory(directives, layout) | _of_array(directives)


def _memory(directives: Directives, layout: Layout) -> dict[str, str]:
    """The variables that say how much memory there is, in MiB."""
    total = layout.memory_bytes >> 20
    if not total:
        return {}
    if "mem-per-cpu" in directives.given:
        return {"SLURM_MEM_PER_CPU": str(total // layout.cpus_per_node)}
    if "mem-per-gpu" in directives.given:
        return {"SLURM_MEM_PER_GPU": str(total // layout.gpus_per_node)}
    return {"SLURM_MEM_PER_NODE": str(total)}


def _job_name(directives: Directives) -> str:
    """All elements of an array have one name there, and here each has its number at the end of it."""
    return '${MUSTER_JOB_NAME%-"$SLURM_ARRAY_TASK_ID"}' if "array" in directives.given else "$MUSTER_JOB_NAME"


def _of_array(directives: Directives) -> dict[str, str]:
    """The task id is given by whoever submits one element of the array."""
    return {"SLURM_ARRAY_JOB_ID": "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}"} if "array" in directives.given else {}


def _runs(counts: list[int]) -> str:
    """2,2,1 as Slurm writes it: 2(x2),1."""
    most, less = counts[0], counts[-1]
    first = counts.count(most)
    parts = [(most, first)] if most == less else [(most, first), (less, len(counts) - first)]
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in parts)
