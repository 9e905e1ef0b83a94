"""No framework: what MUSTER_* says is all there is, and only ports that the user asked for are reserved."""

from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.gang import Gang


def ports(_spec: JobSpec, _role: Role, _index: int) -> int:
    return 0


def environment(_gang: Gang, _task: Task) -> dict[str, str]:
    return {}
