"""Watches the cards: how busy they are, and what takes one out of service.

What may be over in a moment counts only when two looks running find it: a card that the driver does not list, and a
process on a card that is no task of this agent (one that is just ending is no reason).
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set

from muster.agent.gpus.discovery import FoundGpus
from muster.agent.gpus.values import Gpu, GpuLoad
from muster.agent.system.processes import mark_of, read_stat

# Parts of the driver that stand before a card for everybody, tasks of ours too.
_OF_THE_DRIVER = frozenset(("nvidia-cuda-mps", "nvidia-cuda-mps-server", "nvidia-persiste", "nv-hostengine"))
_GENERATIONS = 64


class Stranger(NamedTuple):
    """A process on a card that is not ours. Its start time, for a pid may be given again."""

    card: int
    pid: int
    start_ticks: int
    name: str


class GpuWatch:
    def __init__(self, found: FoundGpus, tasks_folder: str) -> None:
        self._found = found
        self._ours = os.fsencode(os.path.join(tasks_folder, ""))
        self._strangers: Set[Stranger] = set()
        self._unlisted: Set[int] = set()

    def read(self, supervisors: Mapping[int, str]) -> List[Dict[str, Any]]:
        """`supervisors` maps the pid of each running task's supervisor to the task."""
        if not self._found.gpus:
            return []
        loads = {load.index: load for load in self._found.source.loads()}
        strangers = {found for load in loads.values() for found in self._strangers_on(load, supervisors)}
        unlisted = {gpu.index for gpu in self._found.gpus if gpu.index not in loads}
        staying, missing = strangers & self._strangers, unlisted & self._unlisted
        self._strangers, self._unlisted = strangers, unlisted
        return [describe(gpu, loads.get(gpu.index), staying, missing) for gpu in self._found.gpus]

    def _strangers_on(self, load: GpuLoad, supervisors: Mapping[int, str]) -> List[Stranger]:
        found = (self._stranger(load.index, pid, supervisors) for pid in set(load.pids))
        return [stranger for stranger in found if stranger is not None]

    def _stranger(self, card: int, pid: int, supervisors: Mapping[int, str]) -> Optional[Stranger]:
        stat = read_stat(pid)
        if stat is None:
            # Not in our /proc: over, or hidden from us. The latter still answers to its number.
            return Stranger(card, pid, 0, "?") if _exists(pid) else None
        if stat.dead or _is_of_a_task(pid, supervisors) or mark_of(pid).startswith(self._ours):
            return None
        name = command_name(pid)
        return None if name in _OF_THE_DRIVER else Stranger(card, pid, stat.start_ticks, name)


def describe(gpu: Gpu, load: Optional[GpuLoad], strangers: Set[Stranger], missing: Set[int]) -> Dict[str, Any]:
    known = load if load is not None else GpuLoad(gpu.index, None, None, gpu.memory_bytes, None, None)
    here = sorted((one for one in strangers if one.card == gpu.index), key=lambda one: one.pid)
    return {
        "index": gpu.index,
        "load": known.load,
        "memory_used_bytes": known.memory_used_bytes,
        "memory_total_bytes": known.memory_total_bytes,
        "temperature_c": known.temperature_c,
        "power_w": known.power_w,
        "ecc_errors": known.ecc_errors,
        "foreign_pids": [{"pid": one.pid, "name": one.name} for one in here],
        "missing": gpu.index in missing,
    }


def command_name(pid: int) -> str:
    """The program's name alone: arguments may hold what is nobody's business."""
    try:
        with open("/proc/{}/comm".format(pid), "rb") as file:
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return "?"


def _is_of_a_task(pid: int, supervisors: Mapping[int, str]) -> bool:
    """By its session, or by that of an ancestor."""
    for _ in range(_GENERATIONS):
        stat = read_stat(pid)
        if stat is None:
            return False
        if stat.session in supervisors:
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
