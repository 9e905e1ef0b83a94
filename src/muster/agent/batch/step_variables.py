"""Which variables of a job its steps get."""

from __future__ import annotations

from typing import Dict, Mapping

_NOT_FOR_STEPS = (
    "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_MEM_PER_",
    "SLURM_TRES_PER_TASK",
)
"""srun takes them for options. They may be those of another component, exclude those that it is given, or differ from
what was asked for: where a node has a `MaxMemPerCPU`, Slurm gives the job more CPUs with less memory each. A step that
says nothing of memory has all of its job's."""


def for_steps(variables: Mapping[str, str]) -> Dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(_NOT_FOR_STEPS)}
