"""The names of workers as people shorten them."""

from collections.abc import Sequence

from muster.client.views import TaskView


def full_worker(tasks: Sequence[TaskView], worker: str) -> str:
    """A bare number means one of the workers, or of the only role."""
    return f"{_numbered_role(tasks)}-{int(worker)}" if worker.isdecimal() else worker


def _numbered_role(tasks: Sequence[TaskView]) -> str:
    roles = {task.role for task in tasks}
    return roles.pop() if len(roles) == 1 else "worker"
