"""Reads what the kernel counts for control groups, whoever made them: CPU time and memory, in both versions."""

from __future__ import annotations

import os
from typing import Dict, NamedTuple, Optional, Sequence, Tuple


class GroupCounts(NamedTuple):
    """What the kernel counted for all processes of a group; None where it has no counter."""

    cpu_s: Optional[float]
    memory_bytes: Optional[int]


def counted(groups: Sequence[str]) -> GroupCounts:
    """Counts when the processes have ended: what is left in memory then is the cache of files, which was only borrowed,
    and is left out of the most memory that they used."""
    return GroupCounts(_cpu_s(groups), _memory(groups, ("memory.peak", "memory.max_usage_in_bytes")))


def in_use(groups: Sequence[str]) -> GroupCounts:
    """Counts while the processes run: the CPU time so far, and the memory that they have now. The peak of such a group
    is not what they used, because nobody knows how much of it was the cache of files."""
    return GroupCounts(_cpu_s(groups), _memory(groups, ("memory.current", "memory.usage_in_bytes")))


def groups_of_its_own(pid: int, others: Sequence[int], root: str = "/") -> Tuple[str, ...]:
    """Returns the folders of the groups in which CPU time and memory of this process are counted, without those that
    one of the others is in, too. `root` lets tests use another file tree."""
    mounts, own = mounted(root), paths_of(str(pid), root)
    shared = [paths_of(str(other), root) for other in others]
    found = []
    for controller in ("cpuacct", "memory") if "memory" in mounts else ("",):
        path = own.get(controller)
        if path is None or controller not in mounts or any(paths.get(controller) == path for paths in shared):
            continue
        folder = os.path.join(mounts[controller], path.lstrip("/"))
        # In a container of our own, the path may be that of something else below our mount, or of nothing.
        if str(pid) in read(os.path.join(folder, "cgroup.procs")).split():
            found.append(folder)
    return tuple(found)


def mounted(root: str) -> Dict[str, str]:
    """Returns where the hierarchy of each controller is mounted; the empty name stands for version 2."""
    found: Dict[str, str] = {}
    for line in read(os.path.join(root, "proc/self/mounts")).splitlines():
        fields = line.split(" ")
        if len(fields) < 4 or fields[2] not in ("cgroup", "cgroup2"):
            continue
        folder = os.path.join(root, fields[1].lstrip("/"))
        for name in [""] if fields[2] == "cgroup2" else fields[3].split(","):
            found.setdefault(name, folder)
    return found


def paths_of(process: str, root: str) -> Dict[str, str]:
    """The group of a process (a number, or `self`) for each controller."""
    found: Dict[str, str] = {}
    for line in read(os.path.join(root, "proc", process, "cgroup")).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in controllers.split(","):
            found[name] = path
    return found


def counter(text: str, name: str) -> int:
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0] == name:
            return int(fields[1])
    return 0


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _cpu_s(groups: Sequence[str]) -> Optional[float]:
    for group in groups:
        text = read(os.path.join(group, "cpu.stat"))
        nanoseconds = read(os.path.join(group, "cpuacct.usage")).strip()
        if "usage_usec" in text:
            return counter(text, "usage_usec") / 1e6
        if nanoseconds.isdigit():
            return int(nanoseconds) / 1e9
    return None


def _memory(groups: Sequence[str], names: Sequence[str]) -> Optional[int]:
    for group in groups:
        for name in names:
            total = read(os.path.join(group, name)).strip()
            stat = read(os.path.join(group, "memory.stat"))  # empty if the group has just been removed
            if total.isdigit() and stat:
                files = max(counter(stat, "file"), counter(stat, "total_cache")) - _shared(stat)
                return max(0, int(total) - max(0, files))
    return None


def _shared(stat: str) -> int:
    return max(counter(stat, "shmem"), counter(stat, "total_shmem"))
