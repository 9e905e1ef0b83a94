"""PaddlePaddle: the variables that paddle-operator gives a pod and Paddle's own launcher gives a process.

The ports of a task are its endpoint, then the gloo HTTP server on the first ps, or the master on the first trainer of a
collective. Names and values follow paddle-operator. Variables that only Paddle's launcher sets are added where the
framework needs them (PADDLE_MASTER, PADDLE_DISTRI_BACKEND, FLAGS_selected_gpus), so that `init_parallel_env()` and
`fleet.init()` work in the task itself. `python -m paddle.distributed.launch` works inside a task if every task has an
address of its own, as pods have; it counts the hosts in PADDLE_TRAINER_ENDPOINTS, so tasks that share a node must call
Python directly.
"""

from collections.abc import Sequence

from muster.domain.gangs import Gang, host, index_by_id
from muster.domain.specs import PS_ROLE, JobSpec, Mode, Role
from muster.domain.tasks import Task
from muster.launch.endpoints import Variables, endpoint, endpoint_list, gpu_count, is_lead, port_of

HETER_ROLE = "heter"
LAUNCHER_PORTS = 20
"""How many ports, from PADDLE_PORT on, Paddle's older launcher may give to the processes that it starts in a task. They
are its own where every task has an address of its own, as pods have."""
ELASTIC_JOB_ID = "PADDLE_ELASTIC_JOB_ID"
"""A job that sets it wants Paddle's own elastic manager, which waits for as many trainers as it was told."""
_ENDPOINT, _EXTRA = 0, 1


def ports(spec: JobSpec, role: Role, index: int) -> int:
    return 1 + _is_gloo_host(spec, role, index) + _is_master(spec, role, index)


def environment(gang: Gang) -> Variables:
    trainers = _trainers(gang)
    shared = {
        "PADDLE_JOB_ID": f"{gang.job_id}.{gang.attempt}",
        "TRAINER_PORTS_NUM": str(LAUNCHER_PORTS),
        **_lists(gang, trainers),
        **_gloo(gang),
        **_collective(gang, trainers),
    }
    # Ids are numbered within each kind of task, also for ps.
    ids = index_by_id(trainers) | index_by_id(gang.servers) | index_by_id(gang.of_role(HETER_ROLE))
    return lambda task: {**shared, **_own(gang, task, str(ids[task.id]))}


def _own(gang: Gang, task: Task, trainer_id: str) -> dict[str, str]:
    training_role, gpus = _training_role(task), gpu_count(gang, task)
    env = {
        "POD_IP": host(task),
        "PADDLE_PORT": str(port_of(task, _ENDPOINT)),
        "PADDLE_CURRENT_ENDPOINT": endpoint(task),
        "PADDLE_TRAINER_ID": trainer_id,
        "TRAINING_ROLE": training_role,
        "PADDLE_TRAINING_ROLE": training_role,
        "PADDLE_ROLE": training_role,
    }
    if not gang.servers:
        env["PADDLE_GLOBAL_RANK"] = trainer_id
    if gpus:
        # Paddle numbers the visible GPUs, and only the task's own are visible.
        env["FLAGS_selected_gpus"] = ",".join(str(place) for place in range(gpus))
    elif not gang.servers:
        env["PADDLE_DISTRI_BACKEND"] = "gloo"
    return env


def _lists(gang: Gang, trainers: Sequence[Task]) -> dict[str, str]:
    """The lists of endpoints that are the same for all tasks."""
    heter = gang.of_role(HETER_ROLE)
    env = {
        "PADDLE_TRAINERS_NUM": str(len(trainers)),
        "PADDLE_TRAINER_ENDPOINTS": endpoint_list(trainers),
        "PADDLE_TRAINERS": ",".join(host(task) for task in trainers),
    }
    if ELASTIC_JOB_ID in gang.spec.env:
        env["PADDLE_ELASTIC_NP"] = env["PADDLE_TRAINERS_NUM"]
    if gang.servers:
        env["PADDLE_PSERVERS_IP_PORT_LIST"] = endpoint_list(gang.servers)
    if heter:
        env["PADDLE_HETER_ENDPOINTS"] = endpoint_list(heter)
    return env


def _gloo(gang: Gang) -> dict[str, str]:
    if not (gang.spec.gloo and gang.servers):
        return {}
    return {
        "PADDLE_WITH_GLOO": str(gang.spec.gloo),
        "PADDLE_GLOO_RENDEZVOUS": "3",  # HTTP, which needs no shared file system
        "PADDLE_GLOO_HTTP_ENDPOINT": endpoint(gang.servers[0], _EXTRA),
    }


def _collective(gang: Gang, trainers: Sequence[Task]) -> dict[str, str]:
    """The variables that the launcher adds if there are no parameter servers. Each task is one process, hence one
    "node"."""
    if gang.servers:
        return {}
    env = {
        "PADDLE_NNODES": str(len(trainers)),
        "PADDLE_GLOBAL_SIZE": str(len(trainers)),
        "PADDLE_LOCAL_SIZE": "1",
        "PADDLE_LOCAL_RANK": "0",
        "PADDLE_RANK_IN_NODE": "0",
    }
    if gang.spec.mode is Mode.COLLECTIVE:
        env["PADDLE_MASTER"] = endpoint(gang.lead, _EXTRA)
    return env


def _training_role(task: Task) -> str:
    # paddle-operator says HETER where Paddle's role maker wants HETER_TRAINER. A job for the operator expects the
    # former; one written for Paddle's launcher sets TRAINING_ROLE in the role's own env, which wins.
    return {PS_ROLE: "PSERVER", HETER_ROLE: "HETER"}.get(task.role, "TRAINER")


def _trainers(gang: Gang) -> tuple[Task, ...]:
    return tuple(task for task in gang.tasks if task.role not in (PS_ROLE, HETER_ROLE))


def _is_gloo_host(spec: JobSpec, role: Role, index: int) -> bool:
    return bool(spec.gloo) and role.name == PS_ROLE and index == 0


def _is_master(spec: JobSpec, role: Role, index: int) -> bool:
    return spec.mode is Mode.COLLECTIVE and is_lead(spec, role, index)
