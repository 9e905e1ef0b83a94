"""PaddlePaddle: the variables that paddle-operator gives a pod and Paddle's own launcher gives a process.

Ports of a task: its endpoint, then on the first ps the gloo HTTP server, on the first trainer of a collective the
master. Names and values follow paddle-operator; what only Paddle's launcher sets is added where the framework needs it
(PADDLE_MASTER, PADDLE_DISTRI_BACKEND, FLAGS_selected_gpus), so that `init_parallel_env()` and `fleet.init()` work in
the task itself. `python -m paddle.distributed.launch` inside a task works where every task has an address of its own,
as pods have; it counts the hosts in PADDLE_TRAINER_ENDPOINTS, so tasks that share a node call Python directly.
"""

from collections.abc import Sequence

from muster.domain.specs import PS_ROLE, JobSpec, Mode, Role
from muster.domain.tasks import Task
from muster.launch.gang import Gang, Variables, endpoint, gpu_count, host, is_lead, joined, numbered, port_of

HETER_ROLE = "heter"
_ENDPOINT, _EXTRA = 0, 1


def ports(spec: JobSpec, role: Role, index: int) -> int:
    return 1 + _is_gloo_host(spec, role, index) + _is_master(spec, role, index)


def environment(gang: Gang) -> Variables:
    trainers = _trainers(gang)
    shared = {
        "PADDLE_JOB_ID": f"{gang.job_id}.{gang.attempt}",
        **_lists(gang, trainers),
        **_gloo(gang),
        **_collective(gang, trainers),
    }
    # Ids count inside a kind, also for ps.
    ids = numbered(trainers) | numbered(gang.servers) | numbered(gang.of_role(HETER_ROLE))
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
        # Paddle counts among the visible cards, and only the task's own are visible.
        env["FLAGS_selected_gpus"] = ",".join(str(place) for place in range(gpus))
    elif not gang.servers:
        env["PADDLE_DISTRI_BACKEND"] = "gloo"
    return env


def _lists(gang: Gang, trainers: Sequence[Task]) -> dict[str, str]:
    """Who is where."""
    heter = gang.of_role(HETER_ROLE)
    env = {
        "PADDLE_TRAINERS_NUM": str(len(trainers)),
        "PADDLE_TRAINER_ENDPOINTS": joined(trainers),
        "PADDLE_TRAINERS": ",".join(host(task) for task in trainers),
    }
    if gang.servers:
        env["PADDLE_PSERVERS_IP_PORT_LIST"] = joined(gang.servers)
    if heter:
        env["PADDLE_HETER_ENDPOINTS"] = joined(heter)
    return env


def _gloo(gang: Gang) -> dict[str, str]:
    if not (gang.spec.gloo and gang.servers):
        return {}
    return {
        "PADDLE_WITH_GLOO": str(gang.spec.gloo),
        "PADDLE_GLOO_RENDEZVOUS": "3",  # by HTTP: needs no shared file system
        "PADDLE_GLOO_HTTP_ENDPOINT": endpoint(gang.servers[0], _EXTRA),
    }


def _collective(gang: Gang, trainers: Sequence[Task]) -> dict[str, str]:
    """What the launcher adds without parameter servers. One task is one process, hence one "node" of its own."""
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
