"""The MUSTER_* variables, which are the same for every framework: the task's identity, peers, ports and parameters."""

import json
import re
from collections.abc import Iterable

from muster.domain.gangs import Gang, host
from muster.domain.resources import ExtendedDevice
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task
from muster.launch.endpoints import Variables, endpoint
from muster.lib.quantities import gpu_number

_LONGEST = 96 << 10
"""Linux starts no program with a variable of 128 KiB. A list of ports that would be as long is left out."""


def muster_variables(gang: Gang) -> Variables:
    spec = gang.spec
    shared = {
        **_identity(gang),
        "MUSTER_JOB_NAME": spec.name,
        "MUSTER_CLUSTER": gang.cluster,
        "MUSTER_FRAMEWORK": spec.framework.value,
        "MUSTER_MODE": spec.mode.value,
        "MUSTER_WORLD_SIZE": str(len(gang.tasks)),
        "MUSTER_NODES": ",".join(gang.hosts),
        **({"MUSTER_IMAGE": spec.runtime.image} if spec.runtime.image else {}),
        **_peers(gang),
        **_params(spec),
    }
    return lambda task: {**shared, **_own(gang, task)}


def _identity(gang: Gang) -> dict[str, str]:
    """Who the job is to its owner, also if the server that the owner knows has handed it on to this one."""
    known = gang.spec.handed_on or gang
    return {"MUSTER_JOB_ID": known.job_id, "MUSTER_ATTEMPT": str(known.attempt), "MUSTER_OWNER": known.owner}


def _own(gang: Gang, task: Task) -> dict[str, str]:
    role = gang.spec.role(task.role)
    return {
        "MUSTER_TASK_NAME": task.name,
        "MUSTER_ROLE": task.role,
        "MUSTER_ROLE_INDEX": str(task.index),
        "MUSTER_ROLE_COUNT": str(len(gang.of_role(task.role))),
        "MUSTER_RANK": str(task.rank),
        "MUSTER_NODE": task.placement.node,
        **_gpu_share(role),
        **device_variables(task.placement.extended),
        **_own_ports(role, task),
    }


def _gpu_share(role: Role) -> dict[str, str]:
    """Nothing enforces the share of a GPU, but a program that knows its share can limit its own memory."""
    return {"MUSTER_GPU_SHARE": str(gpu_number(role.resources.gpu_share))} if role.resources.shares_gpu else {}


def device_variables(devices: Iterable[ExtendedDevice]) -> dict[str, str]:
    """The files of devices other than GPUs, by resource. If Kubernetes places the task, they are not known here."""
    found: dict[str, list[str]] = {}
    for device in devices:
        found.setdefault(f"MUSTER_DEVICES_{variable_name(device.resource)}", []).extend(device.paths)
    return {name: ",".join(paths) for name, paths in found.items() if paths}


def _own_ports(role: Role, task: Task) -> dict[str, str]:
    """Only the ports that the user asked for. The ports of the framework come before them."""
    asked = _asked(role, task)
    return {"MUSTER_PORTS": _listed(asked), **{f"MUSTER_PORT_{place}": str(port) for place, port in enumerate(asked)}}


def _asked(role: Role, task: Task) -> tuple[int, ...]:
    return task.placement.ports[len(task.placement.ports) - role.ports :] if role.ports else ()


def _listed(ports: Iterable[int]) -> str:
    return ",".join(str(port) for port in ports)


def _peers(gang: Gang) -> dict[str, str]:
    """The hosts of each role, the first port of each of its tasks, and, if they have several, all their ports: those of
    a task are separated by commas, and the tasks by semicolons."""
    env = {}
    for role in gang.spec.roles:
        members = gang.of_role(role.name)
        env[f"MUSTER_HOSTS_{variable_name(role.name)}"] = ",".join(host(task) for task in members)
        if role.ports:
            first = [endpoint(task, len(task.placement.ports) - role.ports) for task in members]
            env[f"MUSTER_ENDPOINTS_{variable_name(role.name)}"] = ",".join(first)
        listed = ";".join(_listed(_asked(role, task)) for task in members)
        if role.ports > 1 and len(listed) < _LONGEST:
            env[f"MUSTER_PORTS_{variable_name(role.name)}"] = listed
    return env


def _params(spec: JobSpec) -> dict[str, str]:
    if not spec.params:
        return {}
    each = {f"MUSTER_PARAM_{variable_name(name)}": _as_text(value) for name, value in spec.params.items()}
    return {**each, "MUSTER_PARAMS": json.dumps(dict(spec.params), sort_keys=True)}


def variable_name(name: str) -> str:
    """The name as a shell accepts it: `learning-rate` becomes `LEARNING_RATE`."""
    return re.sub(r"[^A-Z0-9_]", "_", name.upper())


def _as_text(value: str | int | float | bool) -> str:
    return value if isinstance(value, str) else json.dumps(value)
