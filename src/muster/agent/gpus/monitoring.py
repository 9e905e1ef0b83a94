"""Watches the GPUs: how busy they are, and what takes one out of service.

What may be over in a moment counts only if two samples in a row find it: a GPU that the driver does not list, and a
process on a GPU that belongs to no task of this agent (a task that is just ending is no reason).
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set

from muster.agent.gpus.discovery import FoundGpus
from muster.agent.gpus.values import Gpu, GpuLoad
from muster.agent.system.processes import mark_of, read_stat

# Services of the driver that use a GPU on behalf of others, tasks of this agent among them.
_DRIVER_SERVICES = frozenset(("nvidia-cuda-mps", "nvidia-cuda-mps-server", "nvidia-persiste", "nv-hostengine"))
_GENERATIONS = 64


class ForeignProcess(NamedTuple):
    """A process on a GPU that belongs to no task. It has a start time, since a pid may be used again."""

    gpu: int
    pid: int
    start_ticks: int
    name: str


class GpuWatch:
    def __init__(self, found: FoundGpus, tasks_folder: str) -> None:
        self._found = found
        self._task_mark = os.fsencode(os.path.join(tasks_folder, ""))
        self._foreign: Set[ForeignProcess] = set()
        self._unlisted: Set[int] = set()

    def read(self, leaders: Mapping[int, str]) -> List[Dict[str, Any]]:
        """`leaders` maps the leader of each running task's session to the task."""
        if not self._found.gpus:
            return []
        loads = {load.index: load for load in self._found.source.loads()}
        foreign = {found for load in loads.values() for found in self._foreign_on(load, leaders)}
        unlisted = {gpu.index for gpu in self._found.gpus if gpu.index not in loads}
        staying, missing = foreign & self._foreign, unlisted & self._unlisted
        self._foreign, self._unlisted = foreign, unlisted
        return [describe(gpu, loads.get(gpu.index), staying, missing) for gpu in self._found.gpus]

    def _foreign_on(self, load: GpuLoad, leaders: Mapping[int, str]) -> List[ForeignProcess]:
        found = (self._foreign_process(load.index, pid, leaders) for pid in set(load.pids))
        return [process for process in found if process is not None]

    def _foreign_process(self, gpu: int, pid: int, leaders: Mapping[int, str]) -> Optional[ForeignProcess]:
        stat = read_stat(pid)
        if stat is None:
            # It has ended, or it is hidden in another pid namespace. A hidden one can still be signalled.
            return ForeignProcess(gpu, pid, 0, "?") if _exists(pid) else None
        if stat.dead or _belongs_to_task(pid, leaders) or mark_of(pid).startswith(self._task_mark):
            return None
        name = command_name(pid)
        return None if name in _DRIVER_SERVICES else ForeignProcess(gpu, pid, stat.start_ticks, name)


def describe(gpu: Gpu, load: Optional[GpuLoad], foreign: Set[ForeignProcess], missing: Set[int]) -> Dict[str, Any]:
    known = load if load is not None else GpuLoad(gpu.index, None, None, gpu.memory_bytes, None, None)
    here = sorted((process for process in foreign if process.gpu == gpu.index), key=lambda process: process.pid)
    return {
        "index": gpu.index,
        "load": known.load,
        "memory_used_bytes": known.memory_used_bytes,
        "memory_total_bytes": known.memory_total_bytes,
        "temperature_c": known.temperature_c,
        "power_w": known.power_w,
        "energy_j": known.energy_j,
        "ecc_errors": known.ecc_errors,
        "foreign_pids": [{"pid": process.pid, "name": process.name} for process in here],
        "missing": gpu.index in missing,
    }


def command_name(pid: int) -> str:
    """The program's name without its arguments, which may hold secrets."""
    try:
        with open("/proc/{}/comm".format(pid), "rb") as file:
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return "?"


def _belongs_to_task(pid: int, leaders: Mapping[int, str]) -> bool:
    """A process belongs to a task by its session, or by that of an ancestor."""
    for _ in range(_GENERATIONS):
        stat = read_stat(pid)
        if stat is None:
            return False
        if stat.session in leaders:
            return True
        pid = stat.parent
    return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
