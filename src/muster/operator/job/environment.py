"""The variables of the pods of a PaddleJob, computed by the same function as those of any other Paddle task.

Some of them are known when a pod is created. Those with the addresses or the number of the peers are not, and change
when pods are replaced or the job is scaled. They are annotations of the pod, which the kubelet reads when it starts a
container.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.domain.gangs import make_gang
from muster.domain.resources import Placement, Resources
from muster.domain.specs import PS_ROLE, WORKER_ROLE, Framework, JobSpec, Role
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.frameworks import paddle
from muster.launch.frameworks.paddle import HETER_ROLE
from muster.operator.job.paddle_job import Intranet, PaddleJob, RoleSpec

FIRST_PORT, PORTS = 36000, 20
"""The ports of a pod: the first is its endpoint."""
EXTRA_PORT = PORTS - 2
"""The port of Gloo on the first ps, or of the master on the first trainer of a collective, counted from the first."""
PEERS = "batch.paddlepaddle.org/peers"
"""An annotation on pods and ConfigMaps: a digest of who the peers are. A pod's container starts once it is there."""
VARIABLE_PREFIX = "env.batch.paddlepaddle.org/"
_FORMAT = 1
"""This number is increased when the variables of running pods have to be written again."""
_SHARED = (
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_TRAINERS",
    "PADDLE_TRAINERS_NUM",
    "PADDLE_HETER_ENDPOINTS",
    "PADDLE_WITH_GLOO",
    "PADDLE_GLOO_RENDEZVOUS",
    "PADDLE_GLOO_HTTP_ENDPOINT",
)
"""The keys of paddle-operator's ConfigMap, apart from the two about ports."""
_CHANGING = (
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_TRAINERS",
    "PADDLE_TRAINERS_NUM",
    "PADDLE_HETER_ENDPOINTS",
    "PADDLE_GLOO_HTTP_ENDPOINT",
    "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_MASTER",
    "PADDLE_NNODES",
    "PADDLE_GLOBAL_SIZE",
    "PADDLE_ELASTIC_NP",
)
_RANKS = ("PADDLE_TRAINER_ID", "PADDLE_GLOBAL_RANK")
"""In an elastic job the ranks change, too: they have no gap where a worker is missing."""


@dataclass(frozen=True, slots=True)
class PodVariables:
    fixed: Mapping[str, str]
    changing: Mapping[str, str]
    peers: str
    """The digest of what the changing variables are computed from."""


@dataclass(frozen=True, slots=True)
class GangVariables:
    """The variables of each pod by its name, and those in the ConfigMap."""

    pods: Mapping[str, PodVariables]
    shared: Mapping[str, str]


def peers_digest(job: PaddleJob, addresses: Mapping[str, str], first_port: int = FIRST_PORT) -> str:
    """A short text that changes whenever a variable of a pod does. It is cheap, also for a gang of thousands."""
    bounds = [(role.name, role.minimum, role.maximum) for role in job.roles]
    parts = (_FORMAT, first_port, job.gloo, job.is_elastic, bounds, sorted(addresses.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def gang_variables(job: PaddleJob, addresses: Mapping[str, str], first_port: int = FIRST_PORT) -> GangVariables:
    """The variables of the pods in `addresses`, which are the members of the gang."""
    tasks = _tasks(job, addresses, first_port)
    gang = make_gang(f"{job.namespace}-{job.name}", job.namespace, "", job.attempt, _spec(job, tasks), tasks)
    variables = paddle.environment(gang)
    changing = (*_CHANGING, *(_RANKS if job.is_elastic else ()))
    peers = peers_digest(job, addresses, first_port)
    pods, shared = {}, {"TRAINER_PORTS_NUM": str(PORTS), "PADDLE_PORT": str(first_port)}
    for task in gang.tasks:
        env = _without_guesses(job, task, variables(task)) | _elastic(job, gang.of_role(WORKER_ROLE))
        del env["POD_IP"]  # the pod knows it itself
        if not gang.of_role(WORKER_ROLE):
            env = {name: value for name, value in env.items() if not name.startswith("PADDLE_TRAINERS")}
        pods[task.name] = PodVariables(
            {"TRAINER_PORTS_NUM": str(PORTS), **{name: env[name] for name in env if name not in changing}},
            {name: env[name] for name in changing if name in env},
            peers,
        )
        shared |= {name: env[name] for name in _SHARED if name in env}
    return GangVariables(pods, shared)


def pod_port(job: PaddleJob, role: str, index: int, first_port: int) -> int:
    """The endpoint's port. Pods that share the network of a node differ in it, and keep it when the job is scaled.
    Where a block is too small, the scheduler keeps pods with the same port on different nodes."""
    if job.intranet is not Intranet.HOST:
        return first_port
    place = {PS_ROLE: EXTRA_PORT - 1 - index, HETER_ROLE: EXTRA_PORT // 2 + index}.get(role, index)
    return first_port + place % EXTRA_PORT


def _tasks(job: PaddleJob, addresses: Mapping[str, str], first_port: int) -> list[Task]:
    members = [
        (role.name, index, name)
        for role in job.roles
        for index in range(role.replicas)
        if (name := job.pod_name(role.name, index)) in addresses
    ]
    return [
        Task(
            id=task_id(job.uid, job.attempt, role, index),
            job_id=job.uid,
            attempt=job.attempt,
            name=name,
            role=role,
            index=index,
            rank=rank,
            placement=Placement(
                "", addresses[name], ports=(pod_port(job, role, index, first_port), first_port + EXTRA_PORT)
            ),
            state=TaskLaunching(0.0),
        )
        for rank, (role, index, name) in enumerate(members)
    ]


def _spec(job: PaddleJob, tasks: list[Task]) -> JobSpec:
    counts = {role.name: sum(task.role == role.name for task in tasks) for role in job.roles}
    roles = tuple(
        Role(role.name, counts[role.name], (), Resources(gpus=_gpus(role))) for role in job.roles if counts[role.name]
    )
    return JobSpec(name=job.name, roles=roles, framework=Framework.PADDLE, gloo=job.gloo)


def _elastic(job: PaddleJob, workers: tuple[Task, ...]) -> dict[str, str]:
    role = job.role(WORKER_ROLE)
    if not job.is_elastic or role is None:
        return {}
    bounds = str(len(workers)) if role.minimum == role.maximum else f"{role.minimum}:{role.maximum}"
    return {
        "PADDLE_ELASTIC_JOB_ID": f"{job.namespace}-{job.name}",
        "PADDLE_ELASTIC_NP": bounds,
        "PADDLE_ELASTIC_TIMEOUT": "60",
    }


def _without_guesses(job: PaddleJob, task: Task, env: dict[str, str]) -> dict[str, str]:
    """Without a GPU, `launch` chooses Gloo. A pod with another accelerator leaves that choice to Paddle."""
    role = job.role(task.role)
    if role is not None and _devices(role):
        env.pop("PADDLE_DISTRI_BACKEND", None)
    return env


def _gpus(role: RoleSpec) -> int:
    return sum(count for name, count in _devices(role).items() if name.endswith("gpu"))


def _devices(role: RoleSpec) -> dict[str, int]:
    """The extended resources of the main container, such as `nvidia.com/gpu`."""
    resources: Any = role.main_container.get("resources")
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    if not isinstance(limits, Mapping):
        return {}
    return {name: int(count) for name, count in limits.items() if "/" in name and str(count).isdigit() and int(count)}
