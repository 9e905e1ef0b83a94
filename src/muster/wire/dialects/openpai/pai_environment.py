"""PAI_*: what an OpenPAI task reads from its environment, as far as it can be said truthfully here.

What is the same for all tasks is in the job's env. What depends on the task is set before its commands, by lines of
bash, from the MUSTER_* that it is given. Of the controller's FC_*, those are set that do not name an object of
Kubernetes.
"""

from collections.abc import Mapping, Sequence

from muster.launch.muster_variables import variable_name
from muster.launch.ssh_script import PEERS_FILE, PORT_VARIABLE
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path
from muster.wire.spec_schema import MAX_PORTS

Labels = Mapping[str, int]
"""How many ports a task has under each label, in the order in which it asks for them. `http` is the first."""
ALWAYS: Labels = {"http": 1, "ssh": 1}
"""The labels that every task has."""

_OF_TASK = {
    "PAI_USER_NAME": "$MUSTER_OWNER",
    "PAI_USERNAME": "$MUSTER_OWNER",
    "PAI_VIRTUAL_CLUSTER": "$MUSTER_CLUSTER",
    "PAI_DEFAULT_FS_URI": "",
    "PAI_WORK_DIR": "$PWD",
    "PAI_TASKS_NUM": "$MUSTER_WORLD_SIZE",
    "PAI_JOB_TASK_COUNT": "$MUSTER_WORLD_SIZE",
    "PAI_CURRENT_TASK_ROLE_NAME": "$MUSTER_ROLE",
    "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": "$MUSTER_ROLE_INDEX",
    "PAI_TASK_INDEX": "$MUSTER_ROLE_INDEX",
    "FC_FRAMEWORK_UID": "$MUSTER_JOB_ID",
    "FC_FRAMEWORK_ATTEMPT_ID": "$((${MUSTER_ATTEMPT:-1} - 1))",
    "FC_TASKROLE_NAME": "$MUSTER_ROLE",
    "FC_TASK_INDEX": "$MUSTER_ROLE_INDEX",
    "FC_TASK_ATTEMPT_ID": "0",
}

# Sets the addresses and ports of all tasks of a role: its name, their hosts, their ports, and each label:count.
_OF_ROLE = """\
_pai_role() {
  local role=$1 i=0 host label count place list IFS=,; local -a hosts=($2) tasks ports
  IFS=';'; tasks=($3); IFS=,; shift 3
  for host in ${hosts[@]+"${hosts[@]}"}; do
    ports=(${tasks[i]-}); place=0
    export "PAI_HOST_IP_${role}_$i=$host"
    PAI_TASK_ROLE_INSTANCES=${PAI_TASK_ROLE_INSTANCES:+$PAI_TASK_ROLE_INSTANCES,}$role:$i
    for label; do
      count=${label##*:} label=${label%:*} list=
      while [ "$count" -gt 0 ]; do
        list=${list:+$list,}${ports[place]-}; place=$((place + 1)) count=$((count - 1))
      done
      export "PAI_PORT_LIST_${role}_${i}_$label=$list" "PAI_${role}_${i}_${label}_PORT=$list"
    done
    i=$((i + 1))
  done
}"""

# With `ssh`, the servers of the tasks have ports of their own, which are in a file.
_SSH_PORTS = f"""\
if [ -n "${{{PORT_VARIABLE}-}}" ]; then
  export PAI_CONTAINER_SSH_PORT="${PORT_VARIABLE}"
  while read -r _name _ _port; do
    _role=${{_name%-*}} _i=${{_name##*-}}
    export "PAI_PORT_LIST_${{_role}}_${{_i}}_ssh=$_port" "PAI_${{_role}}_${{_i}}_ssh_PORT=$_port"
  done < "$MUSTER_TASK_DIR/{PEERS_FILE}"
  unset _name _port _role _i
fi"""


def bounded(into: Translator, labels: Labels, source: Path) -> Labels:
    """The labels, or only those that every task has if there are more ports than a task may have: lines of the task's
    script name each port."""
    asked = sum(labels.values())
    if asked <= MAX_PORTS:
        return labels
    into.refuse(source, f"asks for more than {MAX_PORTS} ports for each task", "http and ssh are two of them")
    return ALWAYS


def of_job(into: Translator, roles: Sequence[str], source: Path) -> None:
    for name in ("PAI_TASK_ROLE_COUNT", "PAI_TASK_ROLES_NUM", "PAI_JOB_TASK_ROLE_COUNT"):
        into.put(("env", name), str(len(roles)), source)
    for name in ("PAI_TASK_ROLE_LIST", "PAI_JOB_TASK_ROLE_LIST"):
        into.put(("env", name), ",".join(roles), source)
    for role in roles:
        into.copy(("env", f"PAI_TASK_ROLE_TASK_COUNT_{role}"), ("roles", role, "replicas"))
        into.copy(("env", f"PAI_MIN_FAILED_TASK_COUNT_{role}"), ("roles", role, "minFailed"))
        into.copy(("env", f"PAI_MIN_SUCCEEDED_TASK_COUNT_{role}"), ("roles", role, "minSucceeded"))


def of_task(job_name: str, roles: Mapping[str, Labels], role: str) -> list[str]:
    """The lines of bash. `job_name` is how the platform calls the job, in terms of the shell. They hold under nounset,
    too, which an image may have asked for."""
    names = dict.fromkeys(("PAI_JOB_NAME", "PAI_FRAMEWORK_NAME", "FC_FRAMEWORK_NAME"), job_name)
    own = names | _OF_TASK | _own_ports(roles[role])
    exports = [f'export {name}="{value}"' for name, value in own.items()]
    each = [line for name, labels in roles.items() for line in _of_role(name, labels)]
    return [
        *exports,
        "set -o noglob; PAI_TASK_ROLE_INSTANCES=",
        _OF_ROLE,
        *each,
        "set +o noglob; export PAI_TASK_ROLE_INSTANCES; unset -f _pai_role",
        f"_i=PAI_HOST_IP_{role}_$MUSTER_ROLE_INDEX; "
        'export PAI_CURRENT_CONTAINER_IP="${!_i-}" PAI_CONTAINER_HOST_IP="${!_i-}"; unset _i',
        _SSH_PORTS,
    ]


def _of_role(role: str, labels: Labels) -> list[str]:
    name = variable_name(role)
    counts = " ".join(f"{label}:{count}" for label, count in labels.items())
    return [
        f'export PAI_TASK_ROLE_{role}_HOST_LIST="${{MUSTER_ENDPOINTS_{name}-}}"',
        f'_pai_role {role} "${{MUSTER_HOSTS_{name}-}}" "${{MUSTER_PORTS_{name}-}}" {counts}',
    ]


def _own_ports(labels: Labels) -> dict[str, str]:
    first, listed = 0, {}
    for label, count in labels.items():
        listed[label] = ",".join(f"$MUSTER_PORT_{place}" for place in range(first, first + count))
        first += count
    return {
        "PAI_CURRENT_CONTAINER_PORT": _first(listed["http"]),
        "PAI_CONTAINER_HOST_PORT": _first(listed["http"]),
        "PAI_CONTAINER_SSH_PORT": _first(listed["ssh"]),
        **{f"PAI_CONTAINER_HOST_{label}_PORT_LIST": ports for label, ports in listed.items()},
        "PAI_CONTAINER_HOST_PORT_LIST": "".join(f"{label}:{ports};" for label, ports in listed.items()),
    }


def _first(ports: str) -> str:
    return ports.partition(",")[0]
