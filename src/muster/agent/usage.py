"""How busy the machine and the tasks are: one sample is one pass over /proc.

Percentages need two moments, so a Sampler remembers the last one. Sampling may block (GPU tools) and runs on a
thread of its own; it only reads the snapshot of tasks that it is given.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from muster.agent.gpus import GpuSource
from muster.agent.node import meminfo
from muster.agent.processes import PAGE_BYTES, TICKS_PER_S, ProcessStat, scan


class CpuTimes(NamedTuple):
    busy: int
    total: int


class Sampler:
    def __init__(self, root: str, gpus: GpuSource) -> None:
        self._root = root
        self._gpus = gpus
        self._before = read_cpu_times()

    def sample(self, supervisors: Dict[int, str]) -> Dict[str, Any]:
        """`supervisors` maps the pid of each running task's supervisor to the task."""
        return {"at": time.time(), "node": self._node(), "tasks": task_usage(supervisors, list(scan()))}

    def _node(self) -> Dict[str, Any]:
        before, now = self._before, read_cpu_times()
        self._before = now
        percents = [percent(old, new) for old, new in zip(before, now)]  # noqa: B905 - strict= is newer than 3.8
        memory = meminfo()
        disk = os.statvfs(self._root)
        received, sent = read_network()
        return {
            "cpu_percent": percents[0],
            "per_core": percents[1:],
            "memory_used_bytes": memory["MemTotal"] - memory.get("MemAvailable", memory["MemFree"]),
            "memory_total_bytes": memory["MemTotal"],
            "disk_used_bytes": (disk.f_blocks - disk.f_bfree) * disk.f_frsize,
            "disk_total_bytes": disk.f_blocks * disk.f_frsize,
            "net_rx_bytes": received,
            "net_tx_bytes": sent,
            "load1": os.getloadavg()[0],
            "gpus": [asdict(load) for load in self._gpus.loads()],
        }


def task_usage(supervisors: Dict[int, str], processes: Sequence[ProcessStat]) -> Dict[str, Dict[str, Any]]:
    """A process belongs to the task of its session; one that left the session, to the task of its parent."""
    by_pid = {process.pid: process for process in processes}
    usage = {task: {"cpu_s": 0.0, "rss_bytes": 0, "processes": 0} for task in supervisors.values()}
    for process in processes:
        task = _task_of(process, supervisors, by_pid)
        if task is None:
            continue
        figures = usage[task]
        figures["cpu_s"] += process.cpu_ticks / TICKS_PER_S
        figures["rss_bytes"] += process.rss_pages * PAGE_BYTES
        figures["processes"] += 1
    return usage


def percent(old: CpuTimes, new: CpuTimes) -> float:
    passed = new.total - old.total
    return round(100.0 * (new.busy - old.busy) / passed, 1) if passed > 0 else 0.0


def read_cpu_times() -> List[CpuTimes]:
    """The whole machine first, then each core."""
    with open("/proc/stat", encoding="ascii") as file:
        return [parse_cpu_line(line) for line in file if line.startswith("cpu")]


def parse_cpu_line(line: str) -> CpuTimes:
    # user nice system idle iowait irq softirq steal; the guest fields after them are contained in user and nice.
    fields = [int(field) for field in line.split()[1:9]]
    total = sum(fields)
    return CpuTimes(total - fields[3] - fields[4], total)


def read_network() -> Tuple[int, int]:
    received = sent = 0
    with open("/proc/net/dev", encoding="ascii") as file:
        for line in file:
            name, colon, figures = line.partition(":")
            if colon and name.strip() != "lo":
                fields = figures.split()
                received, sent = received + int(fields[0]), sent + int(fields[8])
    return received, sent


def _task_of(process: ProcessStat, supervisors: Dict[int, str], by_pid: Dict[int, ProcessStat]) -> Optional[str]:
    current = process
    for _ in range(64):
        if current.session in supervisors:
            return supervisors[current.session]
        parent = by_pid.get(current.parent)
        if parent is None:
            return None
        current = parent
    return None
