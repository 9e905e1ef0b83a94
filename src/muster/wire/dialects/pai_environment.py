"""PAI_*: what an OpenPAI task reads from its environment, as far as Muster can say it truthfully.

What is the same for all tasks is in the job's env. What depends on the task is set at the start of its commands from
the MUSTER_* that it is given. Ports of other tasks are known for `http` only, which is each task's first.
"""

from collections.abc import Mapping, Sequence

from muster.launch.muster_variables import variable_name
from muster.wire.dialects.translation import Translator

_OF_TASK = {
    "PAI_JOB_NAME": "$MUSTER_JOB_NAME",
    "PAI_USER_NAME": "$MUSTER_OWNER",
    "PAI_VIRTUAL_CLUSTER": "$MUSTER_CLUSTER",
    "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": "$MUSTER_ROLE_INDEX",
    "PAI_TASK_INDEX": "$MUSTER_ROLE_INDEX",
}


def of_job(into: Translator, roles: Sequence[str]) -> None:
    into.put(("env", "PAI_TASK_ROLE_COUNT"), str(len(roles)), ("taskRoles",))
    into.put(("env", "PAI_TASK_ROLE_LIST"), ",".join(roles), ("taskRoles",))
    for role in roles:
        into.copy(("env", f"PAI_TASK_ROLE_TASK_COUNT_{role}"), ("roles", role, "replicas"))


def of_task(roles: Sequence[str], labels: Mapping[str, int]) -> str:
    """Lines of bash. `labels` are the ports of the task, in the order in which it asks for them."""
    own = dict(_OF_TASK) | _own_ports(labels)
    exported = " ".join(f'{name}="{value}"' for name, value in own.items())
    return "\n".join([f"export {exported}", *(_of_role(role) for role in roles)])


def _own_ports(labels: Mapping[str, int]) -> dict[str, str]:
    first, listed = 0, {}
    for label, count in labels.items():
        listed[label] = ",".join(f"$MUSTER_PORT_{place}" for place in range(first, first + count))
        first += count
    return {
        "PAI_CURRENT_CONTAINER_PORT": "$MUSTER_PORT_0",
        "PAI_CONTAINER_HOST_PORT": "$MUSTER_PORT_0",
        **{f"PAI_CONTAINER_HOST_{label}_PORT_LIST": ports for label, ports in listed.items()},
        "PAI_CONTAINER_HOST_PORT_LIST": "".join(f"{label}:{ports};" for label, ports in listed.items()),
    }


def _of_role(role: str) -> str:
    endpoints = f"MUSTER_ENDPOINTS_{variable_name(role)}"
    each = f'export PAI_HOST_IP_{role}_$_i="${{_e%:*}}" PAI_PORT_LIST_{role}_${{_i}}_http="${{_e##*:}}"; _i=$((_i+1))'
    hosts = f'export PAI_TASK_ROLE_{role}_HOST_LIST="${endpoints}"; _i=0'
    return f"{hosts}; for _e in ${{{endpoints}//,/ }}; do {each}; done"
