"""TensorFlow: TF_CONFIG, the cluster by task type and this task's place in it.

Roles named chief, worker, ps or evaluator are themselves; any other role trains and joins the workers.
"""

import json

from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.gang import Gang, endpoint

_WORKER = "worker"
_EVALUATOR = "evaluator"
_TYPES = ("chief", _WORKER, "ps", _EVALUATOR)


def ports(spec: JobSpec, _role: Role, _index: int) -> int:
    return 1 if spec.task_count > 1 else 0


def environment(gang: Gang, task: Task) -> dict[str, str]:
    if gang.spec.task_count == 1:
        # Many scripts take the mere presence of TF_CONFIG for "distributed".
        return {}
    members: dict[str, list[Task]] = {}
    for member in gang.tasks:
        members.setdefault(_type(member), []).append(member)
    own = _type(task)
    config = {
        # An evaluator watches from outside: TensorFlow wants it named in `task` and absent from `cluster`.
        "cluster": {
            kind: [endpoint(member) for member in members[kind]]
            for kind in _TYPES
            if kind in members and kind != _EVALUATOR
        },
        "task": {"type": own, "index": members[own].index(task)},
    }
    return {"TF_CONFIG": json.dumps(config)}


def _type(task: Task) -> str:
    return task.role if task.role in _TYPES else _WORKER
