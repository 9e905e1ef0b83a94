"""MPI: the host list for `mpirun`, and the Open MPI variables that programs read as hints.

Nothing of PMI or PMIx is set: a library that finds those waits for a process manager that is not there.
"""

from collections import Counter

from muster.domain.specs import JobSpec, Role
from muster.launch.gang import Gang, Variables, host, numbered

HOSTFILE = "hostfile"


def ports(_spec: JobSpec, _role: Role, _index: int) -> int:
    return 0


def environment(gang: Gang) -> Variables:
    shared = {
        "OMPI_COMM_WORLD_SIZE": str(len(gang.tasks)),
        # Programs take the local rank for a device number, and a task sees no card but its own: see torch.py.
        "OMPI_COMM_WORLD_LOCAL_RANK": "0",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
        "MUSTER_HOSTFILE": HOSTFILE,
    }
    ranks = numbered(gang.tasks)
    return lambda task: {"OMPI_COMM_WORLD_RANK": str(ranks[task.id]), **shared}


def hostfile(gang: Gang) -> str:
    """One line per node with as many slots as tasks were placed there."""
    slots = Counter(host(task) for task in gang.tasks)
    return "".join(f"{address} slots={slots[address]}\n" for address in gang.hosts)
