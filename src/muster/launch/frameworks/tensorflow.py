"""TensorFlow: TF_CONFIG with the cluster by task type, and the type and index of this task.

Roles named chief, master, worker, ps or evaluator have the type of that name; tasks of any other role are workers.
"""

import json

from muster.domain.gangs import Gang, index_by_id
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.endpoints import Variables, endpoint

_WORKER = "worker"
_EVALUATOR = "evaluator"
_TYPES = ("chief", "master", _WORKER, "ps", _EVALUATOR)


def ports(spec: JobSpec, _role: Role, _index: int) -> int:
    return 1 if spec.task_count > 1 else 0


def environment(gang: Gang) -> Variables:
    if gang.spec.task_count == 1:
        # Many scripts assume that they are distributed if TF_CONFIG is set at all.
        return lambda task: {}
    members = {kind: [task for task in gang.tasks if _type(task) == kind] for kind in _TYPES}
    places = {kind: index_by_id(tasks) for kind, tasks in members.items()}
    # TensorFlow expects an evaluator in `task`, but not in `cluster`.
    within = {kind: tasks for kind, tasks in members.items() if tasks and kind != _EVALUATOR}
    cluster = json.dumps({kind: [endpoint(task) for task in tasks] for kind, tasks in within.items()})

    def of(task: Task) -> dict[str, str]:
        own = json.dumps({"type": _type(task), "index": places[_type(task)][task.id]})
        return {"TF_CONFIG": f'{{"cluster": {cluster}, "task": {own}}}'}

    return of


def _type(task: Task) -> str:
    return task.role if task.role in _TYPES else _WORKER
