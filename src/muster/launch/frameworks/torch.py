"""PyTorch: the variables that `init_process_group("env://")` and a plain `torchrun script.py` read.

Each task is one process of the group. Under `torchrun` a task is one *node* instead, with a process per GPU: torchrun
takes its options from PET_*, and sets RANK and the others again for the processes that it starts.
"""

from muster.domain.gangs import Gang, host
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.endpoints import Variables, endpoint, gpu_count, is_lead, port_of, worker_rank


def ports(spec: JobSpec, role: Role, index: int) -> int:
    return 1 if is_lead(spec, role, index) else 0


def environment(gang: Gang) -> Variables:
    address, port = host(gang.lead), str(port_of(gang.lead, 0))
    world = str(len(gang.workers))
    shared = {"MASTER_ADDR": address, "MASTER_PORT": port, "WORLD_SIZE": world}

    def of(task: Task) -> dict[str, str]:
        rank = worker_rank(gang, task)
        if rank is None:
            return shared
        return {**shared, **_process(rank, world), **_torchrun(gang, task, rank)}

    return of


def _process(rank: int, world: str) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "NODE_RANK": str(rank),
        "GROUP_RANK": str(rank),
        "GROUP_WORLD_SIZE": world,
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": world,
        # Scripts use it as `cuda:{LOCAL_RANK}`. CUDA_VISIBLE_DEVICES shows a task only its own GPUs, so the first GPU
        # of every task is number 0, however many tasks share the node.
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
    }


def _torchrun(gang: Gang, task: Task, rank: int) -> dict[str, str]:
    return {
        "PET_NNODES": str(len(gang.workers)),
        "PET_NODE_RANK": str(rank),
        "PET_NPROC_PER_NODE": str(max(1, gpu_count(gang, task))),
        "PET_MASTER_ADDR": host(gang.lead),
        "PET_MASTER_PORT": str(port_of(gang.lead, 0)),
        # The static backend keeps these ranks; c10d assigns ranks in the order of arrival.
        "PET_RDZV_BACKEND": "static",
        "PET_RDZV_ENDPOINT": endpoint(gang.lead),
        "PET_RDZV_ID": f"{gang.job_id}.{gang.attempt}",
    }
