"""No framework: a task gets only the MUSTER_* variables and the ports that the user asked for."""

from muster.domain.specs import JobSpec, Role
from muster.launch.gang import Gang, Variables


def ports(_spec: JobSpec, _role: Role, _index: int) -> int:
    return 0


def environment(_gang: Gang) -> Variables:
    return lambda task: {}
