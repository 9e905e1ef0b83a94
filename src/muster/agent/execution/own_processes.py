"""Which processes are a task's for certain, for whoever hands them something that is for the task alone.

What a process says about itself, such as by the mark in its environment, proves nothing: anybody can say it. Proof is
what only the kernel, the agent and the engine of a container can give: the task's control group, its process namespace,
the descent from a process that the agent has started in it, and the account that no task of another user runs under.
"""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Optional, Sequence, Set

from muster.agent.system import disk
from muster.agent.system.processes import (
    Identity,
    ProcessStat,
    find_members,
    is_first_of_namespace,
    mark_of,
    read_stat,
    real_account,
    scan,
)
from muster.agent.system.short_commands import call
from muster.agent.tasks import cgroups, task_folder
from muster.agent.tasks.table import Task

_ANSWER_WITHIN_S = 10.0


def in_groups(task: Task) -> List[int]:
    """Quickly found, and mostly all there are."""
    return cgroups.members(task.groups)


def others(task: Task, current_boot: str, commands: Sequence[Identity] = ()) -> Set[int]:
    """Those outside of the task's control groups. `commands` are what the agent has started in the task since then.
    This reads all of /proc, and asks the engine of a container."""
    processes = list(scan())
    known = (task.identity, _first_of_container(task, current_boot), *commands)
    firsts = [one for one in known if one is not None]
    found = {pid for first in firsts for pid in below(first, processes)}
    for first in firsts:
        if first.pid in found and is_first_of_namespace(first.pid):
            found.update(_in_namespace(first.pid, processes))
    if not task.groups and task.account is not None:
        found.update(_under_account(task, task.account, current_boot))
    return found


def below(first: Identity, processes: Sequence[ProcessStat]) -> Set[int]:
    """The process, all that descend from it, and all of its session. A parent that is younger than its child is
    somebody else, who has got the number of the parent since."""
    by_pid = {process.pid: process for process in processes}
    leader = by_pid.get(first.pid)
    if leader is None or leader.start_ticks != first.start_ticks:
        return set()
    return {process.pid for process in processes if _descends(process, leader, by_pid)}


def _descends(process: ProcessStat, first: ProcessStat, by_pid: Dict[int, ProcessStat]) -> bool:
    current: Optional[ProcessStat] = process
    seen: Set[int] = set()
    while current is not None and current.pid not in seen:
        if current.pid == first.pid or (current.session == first.pid and first.start_ticks <= current.start_ticks):
            return True
        seen.add(current.pid)
        parent = by_pid.get(current.parent)
        current = None if parent is None or parent.start_ticks > current.start_ticks else parent
    return False


def _in_namespace(first: int, processes: Iterable[ProcessStat]) -> Set[int]:
    """Commands that were started in the task later are in its namespace, and do not descend from its first process."""
    namespace = _namespace_of(first)
    return {process.pid for process in processes if namespace and _namespace_of(process.pid) == namespace}


def _namespace_of(pid: int) -> str:
    try:
        return os.readlink("/proc/{}/ns/pid".format(pid))
    except OSError:
        return ""


def _under_account(task: Task, account: int, current_boot: str) -> List[int]:
    """The processes of the task's account that say they are of this task and not of another one, where there is no
    control group. It is the same user's word."""
    members = find_members([task.target], current_boot).get(task.uid, [])
    return [pid for pid in members if real_account(pid) == account]


def _first_of_container(task: Task, current_boot: str) -> Optional[Identity]:
    """The engine knows it, if it keeps the container. Its numbers are ours only if it runs on this very machine."""
    facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
    container = facts.get("container") or {}
    program, name = str(container.get("program", "")), str(container.get("name", ""))
    if not program or not name:
        return None
    try:
        answer = call([program, "inspect", "--format", "{{.State.Pid}}", name], _ANSWER_WITHIN_S)
        pid = int(answer.output) if answer.code == 0 else 0
    except (OSError, ValueError):
        return None
    if pid <= 1 or not is_first_of_namespace(pid) or mark_of(pid) != os.fsencode(task.folder):
        return None
    stat = read_stat(pid)
    return None if stat is None else Identity(pid, stat.start_ticks, current_boot)
