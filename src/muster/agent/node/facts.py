"""The fixed facts of this machine, which `hello` answers."""

from __future__ import annotations

import os
import platform
import socket
import time
from dataclasses import asdict
from typing import Any, Dict

from muster.agent.gpus.discovery import FoundGpus
from muster.agent.tasks import cgroups
from muster.version import __version__

PROTOCOL = 1


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
