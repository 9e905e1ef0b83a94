"""SSH between the tasks of a job: the server in each task, its port, the names of the peers and the keys.

A name stands for a task. It is resolved for other programs than ssh only if every task has an address of its own:
where tasks share one, it would stand for the machine, and MPI would take the peer for a process of its own.
"""

import ipaddress

from muster.domain.gangs import Gang, host
from muster.domain.launch_requests import HostName
from muster.domain.specs import JobSpec, Role, SecretUse
from muster.domain.tasks import Task
from muster.launch.ssh_script import HOST_KEY, KEY, KEYS_FILE, PEERS_FILE, PORT_VARIABLE, SCRIPT, SCRIPT_FILE

KEY_SECRET, HOST_KEY_SECRET = ".ssh-key", ".ssh-host-key"
"""The names of the keys among the values of a launch. No secret of a user can have them."""
_START = '. "$MUSTER_TASK_DIR/ssh.sh"'
_NAME = "muster-ssh"


def ssh_ports(spec: JobSpec) -> int:
    return 0 if spec.ssh is None else 1


def ssh_command(spec: JobSpec, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the start of the server before it."""
    return command if spec.ssh is None else ("/bin/sh", "-c", _START, _NAME, *command)


def ssh_secrets(spec: JobSpec) -> tuple[SecretUse, ...]:
    return () if spec.ssh is None else (SecretUse(KEY_SECRET, file=KEY), SecretUse(HOST_KEY_SECRET, file=HOST_KEY))


def ssh_files(gang: Gang) -> dict[str, str]:
    if gang.spec.ssh is None:
        return {}
    peers = (f"{peer_name(task)} {host(task)} {_port(gang.spec, task)}\n" for task in gang.tasks)
    keys = "".join(f"{key}\n" for key in gang.spec.ssh.authorized_keys)
    return {SCRIPT_FILE: SCRIPT, PEERS_FILE: "".join(peers), KEYS_FILE: keys}


def ssh_variables(spec: JobSpec, task: Task) -> dict[str, str]:
    return {} if spec.ssh is None else {PORT_VARIABLE: str(_port(spec, task))}


def ssh_hosts(gang: Gang) -> tuple[HostName, ...] | None:
    """The names that other programs resolve, too; None for a job without ssh."""
    if gang.spec.ssh is None:
        return None
    has_own_addresses = len(gang.hosts) == len(gang.tasks) and all(_is_number(address) for address in gang.hosts)
    return tuple(HostName(peer_name(task), host(task)) for task in gang.tasks) if has_own_addresses else ()


def _is_number(address: str) -> bool:
    """A list of names takes numbers only; a node that is known by a name is found by that."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def peer_name(task: Task) -> str:
    return f"{task.role}-{task.index}"


def _port(spec: JobSpec, task: Task) -> int:
    """It comes after the ports of the framework, and before those that the user asked for."""
    role: Role = spec.role(task.role)
    return task.placement.ports[len(task.placement.ports) - role.ports - 1]
