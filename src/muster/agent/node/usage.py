"""Samples the usage of the machine and of its tasks.

Percentages and rates need two moments, so a Sampler remembers the last one. Sampling may block (GPU tools) and runs on
a thread of its own; it reads only the snapshot of tasks that it is given. It is done every few seconds on every node
and must be cheap: all of /proc is read only where tasks run.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from muster.agent.gpus.monitoring import GpuWatch
from muster.agent.node.container_usage import Container, container_usage
from muster.agent.node.network import NetworkMeter
from muster.agent.system.processes import PAGE_BYTES, TICKS_PER_S, ProcessStat, scan
from muster.agent.system.procfs import OpenFile


class CpuTimes(NamedTuple):
    busy: int
    total: int


class Sampler:
    def __init__(self, root: str, gpus: GpuWatch) -> None:
        self._root = root
        self._gpus = gpus
        self._network = NetworkMeter()
        self._mount = mount_point(root)
        self._stat, self._memory = OpenFile("/proc/stat"), OpenFile("/proc/meminfo")
        self._before = parse_cpu_times(self._stat.read())

    def sample(self, leaders: Dict[int, str], containers: Mapping[str, Container]) -> Dict[str, Any]:
        """`leaders` maps the leader of each running task's session to the task, which may have a container."""
        node = self._node()
        node["gpus"] = self._gpus.read(leaders)
        processes = list(scan()) if leaders else []
        tasks = task_usage(leaders, processes)
        for task in containers.keys() & tasks.keys():
            tasks[task] = container_usage(containers[task], processes) or tasks[task]
        return {"at": time.time(), "node": node, "tasks": tasks}

    def _node(self) -> Dict[str, Any]:
        before, now = self._before, parse_cpu_times(self._stat.read())
        self._before = now
        percents = [percent(old, new) for old, new in zip(before, now)]  # noqa: B905 - strict= is newer than 3.8
        memory = parse_memory(self._memory.read())
        disk = os.statvfs(self._root)
        links, traffic = self._network.read(), self._network.total()
        return {
            "cpu_percent": percents[0],
            "per_core": percents[1:],
            "memory_used_bytes": memory["MemTotal"] - memory.get("MemAvailable", memory["MemFree"]),
            "memory_total_bytes": memory["MemTotal"],
            "memory_available_bytes": memory.get("MemAvailable", memory["MemFree"]),
            "memory_free_bytes": memory["MemFree"],
            "disk_mount": self._mount,
            "disk_used_bytes": (disk.f_blocks - disk.f_bfree) * disk.f_frsize,
            "disk_total_bytes": disk.f_blocks * disk.f_frsize,
            "disk_free_bytes": disk.f_bavail * disk.f_frsize,
            "net_rx_bytes": traffic.received,
            "net_tx_bytes": traffic.sent,
            "net": links,
            "load1": os.getloadavg()[0],
        }


def task_usage(leaders: Dict[int, str], processes: Sequence[ProcessStat]) -> Dict[str, Dict[str, Any]]:
    """A process belongs to the task of its session; one that left the session, to the task of its parent."""
    by_pid = {process.pid: process for process in processes}
    usage = {task: {"cpu_s": 0.0, "rss_bytes": 0, "processes": 0} for task in leaders.values()}
    for process in processes:
        task = _task_of(process, leaders, by_pid)
        if task is None:
            continue
        sums = usage[task]
        sums["cpu_s"] += process.cpu_ticks / TICKS_PER_S
        sums["rss_bytes"] += process.rss_pages * PAGE_BYTES
        sums["processes"] += 1
    return usage


def percent(old: CpuTimes, new: CpuTimes) -> float:
    passed = new.total - old.total
    return round(100.0 * (new.busy - old.busy) / passed, 1) if passed > 0 else 0.0


def parse_cpu_times(data: bytes) -> List[CpuTimes]:
    """The whole machine comes first, then each core."""
    found = []
    for line in data.decode("ascii", "replace").splitlines():
        if not line.startswith("cpu"):
            break  # they come first, and what follows is long
        found.append(parse_cpu_line(line))
    return found


def parse_cpu_line(line: str) -> CpuTimes:
    # user nice system idle iowait irq softirq steal; the guest fields after them are contained in user and nice.
    fields = [int(field) for field in line.split()[1:9]]
    total = sum(fields)
    return CpuTimes(total - fields[3] - fields[4], total)


def parse_memory(data: bytes) -> Dict[str, int]:
    """Total, free and, where the kernel has it, available memory in bytes; they are the first three lines."""
    found = {}
    for line in data.decode("ascii", "replace").split("\n", 3)[:3]:
        name, _, value = line.partition(":")
        found[name] = int(value.split()[0]) * 1024
    return found


def mount_point(path: str) -> str:
    path = os.path.realpath(path)
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def _task_of(process: ProcessStat, leaders: Dict[int, str], by_pid: Dict[int, ProcessStat]) -> Optional[str]:
    current = process
    for _ in range(64):
        if current.session in leaders:
            return leaders[current.session]
        parent = by_pid.get(current.parent)
        if parent is None:
            return None
        current = parent
    return None
