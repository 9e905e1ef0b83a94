"""The ports of a task under the labels that its job file gives them."""

from collections.abc import Mapping
from typing import Any

from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.wire.documents import read_document

Labels = Mapping[str, int]
ALWAYS: Labels = {"http": 1, "ssh": 1}
"""What every task gets, before what its role asks for."""
_UNLABELLED = "ports"
_MAX_CHARACTERS = 64 << 10
"""The labels of a longer file are not looked up, because everybody would wait for it."""


def labels_of(job: Job) -> dict[str, Labels]:
    """How many ports each label of each role has, in their order. Empty for a job that is not one of protocol 2."""
    original = job.spec.original
    if original is None or len(original.text) > _MAX_CHARACTERS:
        return {}
    roles = _mapping(read_document(original.text).data, "taskRoles")
    asked = {name: _mapping(_mapping(role, "resourcePerInstance"), "ports") for name, role in roles.items()}
    return {name: {**ALWAYS, **ports} for name, ports in asked.items()}


def labelled_ports(job: Job, task: Task, labels: Mapping[str, Labels]) -> dict[str, str]:
    """The ports that the role asked for, which come last. Without a label for each of them they have none."""
    count = job.spec.role(task.role).ports
    own = task.placement.ports[len(task.placement.ports) - count :] if count else ()
    wanted = labels.get(task.role, {})
    if not own or sum(wanted.values()) != len(own):
        shown = own or task.placement.ports
        return {_UNLABELLED: ",".join(map(str, shown))} if shown else {}
    found: dict[str, str] = {}
    for label, amount in wanted.items():
        found[label], own = ",".join(map(str, own[:amount])), own[amount:]
    return found


def _mapping(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
