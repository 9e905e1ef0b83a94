"""JAX: the address of the coordinator, the number of processes, and the id of this one.

`jax.distributed.initialize()` reads JAX_COORDINATOR_ADDRESS and JAX_LOCAL_DEVICE_IDS by itself. It takes the number and
the id of the process as arguments, for which JAX_NUM_PROCESSES and JAX_PROCESS_ID are the customary names. It would
only find those by itself if Muster imitated Open MPI's launcher, which would mislead programs that do use MPI.
"""

from muster.domain.gangs import Gang
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.endpoints import Variables, endpoint, gpu_count, is_lead, worker_rank


def ports(spec: JobSpec, role: Role, index: int) -> int:
    return 1 if is_lead(spec, role, index) else 0


def environment(gang: Gang) -> Variables:
    shared = {"JAX_COORDINATOR_ADDRESS": endpoint(gang.lead), "JAX_NUM_PROCESSES": str(len(gang.workers))}
    return lambda task: {**shared, **_process(gang, task)}


def _process(gang: Gang, task: Task) -> dict[str, str]:
    rank, gpus = worker_rank(gang, task), gpu_count(gang, task)
    env = {} if rank is None else {"JAX_PROCESS_ID": str(rank)}
    if gpus:
        # JAX numbers the visible GPUs, and only this task's own are visible.
        env["JAX_LOCAL_DEVICE_IDS"] = ",".join(str(place) for place in range(gpus))
    return env
