"""The fixed facts of this machine, which `hello` answers."""

from __future__ import annotations

import fcntl
import os
import platform
import socket
import struct
import time
from dataclasses import asdict
from typing import Any, Dict, Mapping, Optional

from muster.agent.errors import BAD_REQUEST, AgentError
from muster.agent.gpus.discovery import FoundGpus
from muster.agent.tasks import cgroups
from muster.version import __version__

PROTOCOL = 1
_SIOCGIFADDR = 0x8915


def describe(root: str, boot_id: str, groups: cgroups.Groups, gpus: FoundGpus, own_address: str) -> Dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "agent_version": __version__,
        "hostname": socket.gethostname(),
        "boot_id": boot_id,
        "now": time.time(),
        "python": platform.python_version(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_bytes(),
        "gpus": [asdict(gpu) for gpu in gpus.gpus],
        "gpu_source": gpus.source.source,
        "limits": {"memory": groups.memory is not None, "cpu": groups.cpu is not None, "why": groups.why},
        "address": own_address,
        "disk_free_bytes": disk_free_bytes(root),
        "root": root,
        "uid": os.getuid(),
        "gid": os.getgid(),
    }


def memory_bytes() -> int:
    total = meminfo()["MemTotal"]
    limit = cgroups.memory_limit()
    return total if limit is None else min(total, limit)


def meminfo() -> Dict[str, int]:
    found: Dict[str, int] = {}
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            found[name] = int(value.split()[0]) * 1024
    return found


def disk_free_bytes(root: str) -> int:
    disk = os.statvfs(root)
    return disk.f_bavail * disk.f_frsize


def address(interface: Optional[str] = None, environ: Mapping[str, str] = os.environ) -> str:
    """The address at which other nodes reach this one: that of the interface; else the one that the server used for
    SSH; else the one that it would use towards others. Connecting a datagram socket sends nothing."""
    if interface is not None:
        return interface_address(interface)
    reached = environ.get("SSH_CONNECTION", "").split()
    if len(reached) == 4 and not reached[2].startswith("127.") and reached[2] != "::1":
        return reached[2]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def interface_address(interface: str) -> str:
    name = struct.pack("256s", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, name)
        except OSError as error:
            problem = "interface {} has no address here: {}".format(interface, error.strerror)
            raise AgentError(BAD_REQUEST, problem) from error
    return socket.inet_ntoa(answer[20:24])
