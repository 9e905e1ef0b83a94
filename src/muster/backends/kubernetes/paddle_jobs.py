"""A gang as a PaddleJob, which the operator of the cluster turns into pods.

The operator makes the variables of PaddlePaddle and a service for each pod. All tasks of a role share one template, in
which what differs between them follows from `PADDLE_TRAINER_ID`, the index of the task in its role.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.backends.kubernetes.names import FILE_PREFIX, GANG, TASK, gang_name, pod_name
from muster.backends.kubernetes.pods import unexpanded
from muster.backends.kubernetes.volumes import FILES
from muster.domain.gangs import Gang
from muster.domain.specs import PS_ROLE, WORKER_ROLE, Framework, JobSpec
from muster.domain.tasks import Task
from muster.kubernetes.resources import RES_NAME, labels_of
from muster.launch.frameworks import RECIPES
from muster.launch.frameworks.paddle import HETER_ROLE
from muster.ports.backend import Observation, Phase

ROLES = (PS_ROLE, WORKER_ROLE, HETER_ROLE)
_INDEX = "$(PADDLE_TRAINER_ID)"
_WITH_RANK = 'MUSTER_RANK=$(({offset} + PADDLE_TRAINER_ID)); export MUSTER_RANK; exec "$@"'


def suits(spec: JobSpec) -> bool:
    """Whether the job can be a PaddleJob. One that asks for ports of its own cannot, and neither can one with outputs:
    its pods outlive their tasks, while an operator takes the end of a pod for the end of its task."""
    roles = {role.name for role in spec.roles}
    return (
        spec.framework is Framework.PADDLE
        and WORKER_ROLE in roles
        and roles <= set(ROLES)
        and not any(role.ports for role in spec.roles)
        and not spec.outputs
        and spec.ssh is None
        and all(role.command for role in spec.roles)  # a command can be given its rank, an entry point cannot
    )


def is_paddle_gang(gang: Gang) -> bool:
    """Whether the gang was given addresses as the pods of a PaddleJob have them."""
    return gang.tasks[0].placement.address == pod_name(gang.tasks[0].id)


def paddle_job(gang: Gang, pods: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> dict[str, Any]:
    """`pods` are those that the tasks would have by themselves, by task id. Pods stay until Muster has their logs, and
    Muster alone decides about another attempt."""
    spec: dict[str, Any] = {"cleanPodPolicy": "Never", "intranet": "Service", "withGloo": gang.spec.gloo}
    for role in gang.spec.roles:
        tasks = gang.of_role(role.name)
        if tasks:
            template = _template(gang, tasks, pods[tasks[0].id])
            spec[role.name] = {"replicas": len(tasks), "template": template}
    return {
        "metadata": {"name": gang_name(gang.key), "labels": {**labels, GANG: gang.key}},
        "spec": spec,
    }


def differing_files(gang: Gang, files: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The files that differ between tasks, as keys of the gang's own object. `files` are those of each task."""
    return {_file_key(name, task): text for task in gang.tasks for name, text in files[task.id].items()}


def is_of_operator(pod: Mapping[str, Any]) -> bool:
    return RES_NAME in labels_of(pod)


def expected(job: Mapping[str, Any], namespace: str) -> Iterator[Observation]:
    """What is known about the tasks of a PaddleJob that have no pods."""
    spec, gang = job.get("spec") or {}, labels_of(job).get(GANG, "")
    words = _words(job.get("status") or {})
    for role in ROLES:
        for index in range(int((spec.get(role) or {}).get("replicas") or 0)):
            task = f"{gang}.{role}.{index}"
            yield Observation(task, Phase.WAITING, f"{namespace}/{pod_name(task)}", wait_reason=words)


def _words(status: Mapping[str, Any]) -> str:
    """The newest condition of the job that says something."""
    told = [str(one["message"]) for one in status.get("conditions") or () if one.get("message")]
    return told[-1] if told else "waiting for the operator to create the pods"


def _template(gang: Gang, tasks: Sequence[Task], pod: Mapping[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(dict(pod))
    metadata, spec = found["metadata"], found["spec"]
    for key in ("hostname", "subdomain"):
        spec.pop(key, None)  # the operator gives each pod its own
    main = spec["containers"][0]
    main["env"] = list(_variables(gang, tasks[0], main["env"]))
    if offset := tasks[0].rank:
        script = unexpanded(_WITH_RANK.format(offset=offset))
        main["command"] = ["/bin/sh", "-c", script, "sh", *main["command"]]
    own = [name.removeprefix(FILE_PREFIX) for name in metadata["annotations"] if name.startswith(FILE_PREFIX)]
    _mount_differing(spec, gang, tasks, own)
    labels = {name: value for name, value in metadata["labels"].items() if name != TASK}
    annotations = {name: value for name, value in metadata["annotations"].items() if not name.startswith(FILE_PREFIX)}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}


def _variables(gang: Gang, task: Task, given: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The variables without those that the operator sets, unless the user has set them."""
    spec = gang.spec
    own = {*spec.env, *spec.role(task.role).env}
    theirs = RECIPES[Framework.PADDLE].environment(gang)(task).keys() - own
    differing = {
        "MUSTER_TASK_NAME": f"{unexpanded(spec.name)}-{task.role}-{_INDEX}",
        "MUSTER_ROLE_INDEX": _INDEX,
        "MUSTER_RANK": _INDEX,
    }
    for one in given:
        name = one["name"]
        if name in differing:
            if name != "MUSTER_RANK" or not task.rank:
                yield {"name": name, "value": differing[name]}
        elif name not in theirs:
            yield one


def _mount_differing(spec: dict[str, Any], gang: Gang, tasks: Sequence[Task], names: Sequence[str]) -> None:
    """Files that differ between tasks come from the gang's own object, each by the index of its task."""
    if not names:
        return
    volume = next(one for one in spec["volumes"] if one["name"] == FILES)
    sources = [one for one in volume["projected"]["sources"] if "downwardAPI" not in one]
    items = [{"key": _file_key(name, task), "path": f"{task.index}/{name}"} for name in names for task in tasks]
    volume["projected"]["sources"] = [*sources, {"configMap": {"name": own_name(gang.key), "items": items}}]
    for mount in spec["containers"][0]["volumeMounts"]:
        if mount["name"] == FILES and mount.get("subPath") in names:
            mount["subPathExpr"] = f"{_INDEX}/{mount.pop('subPath')}"


def _file_key(name: str, task: Task) -> str:
    return f"{name}.{task.role}-{task.index}"


def own_name(gang_key: str) -> str:
    """The name of Muster's own objects of such a gang: the operator takes that of the job for a ConfigMap."""
    return f"{gang_name(gang_key)}-own"
