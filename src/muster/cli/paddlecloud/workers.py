"""Workers as paddlecloud shows them: pods of a job that are named `JOB-trainer-xxxxx` and have a phase."""

from collections.abc import Sequence

from muster.api.pod_phases import PHASES
from muster.client.views import TaskView
from muster.lib.pod_names import pod_name

_PSERVER = "ps"


def phase(task: TaskView) -> str:
    return PHASES.get(task.state, task.state)


def worker_name(job: str, task: TaskView) -> str:
    kind = "pserver" if task.role == _PSERVER else "trainer"
    return pod_name(f"{job}-{kind}", task.id)


def trainers(tasks: Sequence[TaskView]) -> list[TaskView]:
    return [task for task in tasks if task.role != _PSERVER]


def find_worker(job: str, tasks: Sequence[TaskView], name: str) -> TaskView | None:
    """Finds a task by the name that `get workers` shows, or by the one that Muster has for it."""
    return next((task for task in tasks if name in (worker_name(job, task), task.name, task.short_name)), None)
