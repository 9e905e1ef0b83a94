"""TensorFlow: TF_CONFIG, the cluster by task type and this task's place in it.

Roles named chief, worker, ps or evaluator are themselves; any other role trains and joins the workers.
"""

import json

from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.gang import Gang, Variables, endpoint, numbered

_WORKER = "worker"
_EVALUATOR = "evaluator"
_TYPES = ("chief", _WORKER, "ps", _EVALUATOR)


def ports(spec: JobSpec, _role: Role, _index: int) -> int:
    return 1 if spec.task_count > 1 else 0


def environment(gang: Gang) -> Variables:
    if gang.spec.task_count == 1:
        # Many scripts take the mere presence of TF_CONFIG for "distributed".
        return lambda task: {}
    members = {kind: [task for task in gang.tasks if _type(task) == kind] for kind in _TYPES}
    places = {kind: numbered(tasks) for kind, tasks in members.items()}
    # An evaluator watches from outside: TensorFlow wants it named in `task` and absent from `cluster`.
    within = {kind: tasks for kind, tasks in members.items() if tasks and kind != _EVALUATOR}
    cluster = json.dumps({kind: [endpoint(task) for task in tasks] for kind, tasks in within.items()})

    def of(task: Task) -> dict[str, str]:
        own = json.dumps({"type": _type(task), "index": places[_type(task)][task.id]})
        return {"TF_CONFIG": f'{{"cluster": {cluster}, "task": {own}}}'}

    return of


def _type(task: Task) -> str:
    return task.role if task.role in _TYPES else _WORKER
