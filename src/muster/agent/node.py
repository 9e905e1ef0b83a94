"""The fixed facts of this machine, as `hello` tells them."""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import asdict
from typing import Any, Dict

from muster.agent import cgroups
from muster.agent.gpus import FoundGpus
from muster.version import __version__

PROTOCOL = 1


def describe(root: str, boot_id: str, groups: cgroups.Groups, gpus: FoundGpus) -> Dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "agent_version": __version__,
        "hostname": socket.gethostname(),
        "boot_id": boot_id,
        "python": platform.python_version(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_bytes(),
        "gpus": [asdict(gpu) for gpu in gpus.gpus],
        "gpu_source": gpus.source.source,
        "limits": {"memory": groups.memory is not None, "cpu": groups.cpu is not None, "why": groups.why},
        "address": address(),
        "disk_free_bytes": disk_free_bytes(root),
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


def address() -> str:
    """The address this machine would use towards others. Connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
