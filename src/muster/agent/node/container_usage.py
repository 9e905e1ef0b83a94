"""Measures what the processes of a container use, which are the engine's and not those of its client.

The container is known by its first process. Engines put it into a control group of its own, whose counters miss
nothing. Where an engine may not make groups (mostly one without root), the first process and all below it are added up.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from muster.agent.system import group_counters
from muster.agent.system.processes import (
    PAGE_BYTES,
    TICKS_PER_S,
    Identity,
    ProcessStat,
    Target,
    find_members,
    is_first_of_namespace,
    read_stat,
)

_DEEPEST = 64


class Container(NamedTuple):
    first: Identity
    groups: Tuple[str, ...]  # the folders of its control groups; none if it has none of its own


def find_container(target: Target, current_boot: str) -> Optional[Container]:
    """Returns None if the container has not come up, or is over. This reads all of /proc."""
    members = find_members([target], current_boot).get(target.task, [])
    stats = [read_stat(pid) for pid in members if is_first_of_namespace(pid)]
    living = [stat for stat in stats if stat is not None and not stat.dead]
    if not living:
        return None
    first = min(living, key=lambda stat: stat.start_ticks)  # the others are of containers within this one
    # A group with the client or the engine in it counts those, too, and perhaps much else.
    others = [first.parent] if target.leader is None else [first.parent, target.leader.pid]
    groups = group_counters.groups_of_its_own(first.pid, others)
    return Container(Identity(first.pid, first.start_ticks, current_boot), groups)


def container_usage(container: Container, processes: Sequence[ProcessStat]) -> Optional[Dict[str, Any]]:
    """What a sample says of a task, or None if the container is over."""
    inside = _below(container.first, processes)
    if not inside:
        return None
    counts = group_counters.in_use(container.groups)
    cpu_s = sum(process.cpu_ticks for process in inside) / TICKS_PER_S
    memory = sum(process.rss_pages for process in inside) * PAGE_BYTES
    return {
        "cpu_s": cpu_s if counts.cpu_s is None else counts.cpu_s,
        "rss_bytes": memory if counts.memory_bytes is None else counts.memory_bytes,
        "processes": len(inside),
        "in_container": True,
    }


def _below(first: Identity, processes: Sequence[ProcessStat]) -> List[ProcessStat]:
    """Orphans in a container become children of its first process."""
    parents = {process.pid: process.parent for process in processes}
    if not any((process.pid, process.start_ticks) == (first.pid, first.start_ticks) for process in processes):
        return []
    return [process for process in processes if _is_below(process.pid, first.pid, parents)]


def _is_below(pid: int, first: int, parents: Dict[int, int]) -> bool:
    for _ in range(_DEEPEST):
        if pid == first:
            return True
        if pid not in parents:
            return False
        pid = parents[pid]
    return False
