"""No framework was named, and the command shows none.

A gang gets the variables of PyTorch: they cost one port, a program that does not know them ignores them, and without
them `torchrun train.py` would train once per task, each time alone. A single task gets none: there is nobody to meet,
and Lightning, Accelerate and Transformers take the mere presence of LOCAL_RANK or WORLD_SIZE for a launcher, and then
no longer start the processes that the user wants. For the same reason a task with several GPUs is given no LOCAL_RANK:
it starts one process per GPU itself, or `torchrun` does it.
"""

from muster.domain.gangs import Gang
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.endpoints import Variables, gpu_count
from muster.launch.frameworks import torch

_OF_ONE_PROCESS = ("LOCAL_RANK", "LOCAL_WORLD_SIZE")


def ports(spec: JobSpec, role: Role, index: int) -> int:
    return torch.ports(spec, role, index) if _is_gang(spec) else 0


def environment(gang: Gang) -> Variables:
    if not _is_gang(gang.spec):
        return lambda task: {}
    of_torch = torch.environment(gang)

    def of(task: Task) -> dict[str, str]:
        variables = of_torch(task)
        if gpu_count(gang, task) <= 1:
            return variables
        return {name: value for name, value in variables.items() if name not in _OF_ONE_PROCESS}

    return of


def _is_gang(spec: JobSpec) -> bool:
    """An elastic job may have one task now and more later, so its program must find the same variables each time."""
    return spec.task_count > 1 or any(role.is_elastic for role in spec.roles)
