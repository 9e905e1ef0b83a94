"""The user wants no framework: a task gets only the MUSTER_* variables and the ports that the user asked for."""

from muster.domain.gangs import Gang
from muster.domain.specs import JobSpec, Role
from muster.launch.endpoints import Variables


def ports(_spec: JobSpec, _role: Role, _index: int) -> int:
    return 0


def environment(_gang: Gang) -> Variables:
    return lambda task: {}
