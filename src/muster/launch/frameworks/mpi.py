"""MPI: the host list for `mpirun`, and the Open MPI variables that programs read as hints.

No PMI or PMIx variables are set: a library that finds them waits for a process manager that does not exist.
"""

from collections import Counter

from muster.domain.gangs import Gang, host, index_by_id
from muster.domain.specs import JobSpec, Role
from muster.launch.endpoints import Variables

HOSTFILE = "hostfile"


def ports(_spec: JobSpec, _role: Role, _index: int) -> int:
    return 0


def environment(gang: Gang) -> Variables:
    shared = {
        "OMPI_COMM_WORLD_SIZE": str(len(gang.tasks)),
        # Programs use the local rank as a device number, and a task sees only its own GPUs: see torch.py.
        "OMPI_COMM_WORLD_LOCAL_RANK": "0",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
        "MUSTER_HOSTFILE": HOSTFILE,
    }
    ranks = index_by_id(gang.tasks)
    return lambda task: {"OMPI_COMM_WORLD_RANK": str(ranks[task.id]), **shared}


def hostfile(gang: Gang) -> str:
    """One line per node, with one slot for each task on it. Tasks that have names for ssh are listed by them."""
    if gang.spec.ssh is not None:
        return "".join(f"{task.role}-{task.index} slots=1\n" for task in gang.tasks)
    slots = Counter(host(task) for task in gang.tasks)
    return "".join(f"{address} slots={slots[address]}\n" for address in gang.hosts)
