"""Control groups of tasks, where the machine lets us make them; where not, a sentence that says why.

Every task has a group, so that all of its processes are found and killed at its end, also those that have cleared
their environment and started a session of their own. A task with limits has them on its group. Groups are made below
the agent's own group, and removed when the task is over. Version 1 has one hierarchy per controller; version 2 has one
for all and must have its controllers delegated to us. A group without controllers can be made in version 2 wherever we
may write.
"""

from __future__ import annotations

import hashlib
import os
import signal
from dataclasses import dataclass, replace
from typing import Collection, Dict, List, Optional, Sequence, Set, Tuple

from muster.agent.isolation import device_rules
from muster.agent.isolation.gpu_files import DeviceNumber
from muster.agent.system.group_counters import counter, mounted, paths_of, read
from muster.agent.system.processes import send
from muster.agent.tasks.joining import Joining
from muster.agent.tasks.launch_request import Limits

_PREFIX = "muster-"
_ASIDE = "muster-agent"
_NOT_MOUNTED = "no control groups are mounted on this machine"
_HARMLESS = DeviceNumber(195, 253)  # a number of NVIDIA's that no device has


@dataclass(frozen=True)
class Groups:
    """The parent folder in which groups can be made, for each controller; None where the controller does not work."""

    version: int
    memory: Optional[str]
    cpu: Optional[str]
    why: str
    processes: Optional[str] = None  # where every task gets a group, for its processes to be found by
    home: str = ""  # our own group in that hierarchy
    most_processes: Optional[int] = None
    devices: Optional[str] = None  # where a task gets a group that closes devices to it
    devices_why: str = ""  # why there is none
    tag: str = ""  # tells the groups of this agent from those of another one on the same machine

    def create(self, task: str, limits: Limits, closed: Sequence[DeviceNumber] = ()) -> Tuple[str, ...]:
        """Make the task's group and what its limits need; the folders made. A limit that is not possible here is left
        out, and so are the devices that are to be closed to the task."""
        wanted: Dict[str, Dict[str, str]] = {}
        if self.processes is not None:
            most = self.most_processes
            wanted[self.processes] = {} if most is None else {"pids.max": str(most)}
        if limits.memory_bytes is not None and self.memory is not None:
            wanted.setdefault(self.memory, {}).update(_memory_settings(self.version, limits.memory_bytes))
        if limits.cpu_shares is not None and self.cpu is not None:
            wanted.setdefault(self.cpu, {}).update(_cpu_settings(self.version, limits.cpu_shares))
        if closed and self.devices is not None:
            wanted.setdefault(self.devices, {})
        made: List[str] = []
        try:
            for parent, settings in wanted.items():
                folder = os.path.join(parent, _PREFIX + task + self.tag)
                try:
                    os.mkdir(folder)
                except FileExistsError:
                    pass
                made.append(folder)
                _apply(folder, settings)
                if closed and parent == self.devices:
                    device_rules.close(self.version, folder, closed)
        except OSError:
            remove(made)
            raise
        return tuple(made)

    def remove_unused(self, tasks: Collection[str]) -> None:
        """Remove the groups that an earlier agent left for tasks that are not known any more."""
        used = {_PREFIX + task + self.tag for task in tasks}
        for parent in {self.memory, self.cpu, self.processes, self.devices} - {None}:
            assert parent is not None
            for name in os.listdir(parent):
                if self.tag and name.startswith(_PREFIX) and name.endswith(self.tag) and name not in used:
                    remove([os.path.join(parent, name)])

    def joining(self, groups: Sequence[str], limits: Limits) -> Joining:
        """A group with limits is entered by the task's own process only, because a limit may kill who is in it."""
        files = join_files(groups)
        is_limited = limits.any and self.processes in (self.memory, self.cpu)
        if self.processes is None or not files or is_limited:
            return Joining("", "", tuple(files))
        return Joining(
            os.path.join(groups[0], self._entrance), os.path.join(self.home, self._entrance), tuple(files[1:])
        )

    @property
    def _entrance(self) -> str:
        """A single thread that moves itself by version 1's `tasks` waits for nobody. All else stops all processors."""
        return "tasks" if self.version == 1 else "cgroup.procs"


def join_files(groups: Sequence[str]) -> List[str]:
    return [os.path.join(group, "cgroup.procs") for group in groups]


def members(groups: Sequence[str]) -> List[int]:
    pids: Set[int] = set()
    for path in join_files(groups):
        pids.update(int(line) for line in read(path).split())
    return sorted(pids)


def kill(groups: Sequence[str]) -> None:
    """Kill everything in these groups. Version 2 does it in one step; in version 1 nothing can be forked meanwhile."""
    for group in groups:
        for name, value in (("cgroup.kill", "1"), ("pids.max", "0")):
            try:
                _write(os.path.join(group, name), value)
            except OSError:
                pass  # the group is of the other version, or gone
    for pid in members(groups):
        send(pid, signal.SIGKILL)


def ran_out_of_memory(groups: Sequence[str]) -> bool:
    for group in groups:
        for name in ("memory.oom_control", "memory.events"):
            if counter(read(os.path.join(group, name)), "oom_kill") > 0:
                return True
    return False


def remove(groups: Sequence[str]) -> bool:
    """Removes the groups and returns whether all are gone. A group that still has processes in it stays."""
    for group in groups:
        try:
            os.rmdir(group)
        except FileNotFoundError:
            pass
        except OSError:
            return False
    return True


def memory_limit(root: str = "/") -> Optional[int]:
    """The tightest memory limit on our own group and the groups around it."""
    found = []
    for base, own, name in _own_memory_groups(root):
        for path in _with_parents(own):
            value = read(os.path.join(base, path.lstrip("/"), name)).strip()
            if value.isdigit():
                found.append(int(value))
    return min(found) if found else None


def tag_of(agent_root: str) -> str:
    """Two agents on one machine may have tasks of the same name."""
    return "." + hashlib.sha256(os.fsencode(agent_root)).hexdigest()[:8]


def find_groups(root: str = "/", tag: str = "") -> Groups:
    """Finds out by trying which controllers work on this node. `root` lets tests use another file tree."""
    mounts, own = mounted(root), paths_of("self", root)
    if "memory" in mounts or "cpu" in mounts:
        parent = _own_folder(mounts["devices"], own.get("devices", "/")) if "devices" in mounts else None
        groups = _with_devices(_version_1(mounts, own), parent)
        return replace(groups, tag=tag, most_processes=_most_processes(root))
    if "" in mounts:
        groups = _version_2(_own_folder(mounts[""], own.get("", "/")))
        return replace(_with_devices(groups, groups.processes), tag=tag, most_processes=_most_processes(root))
    return Groups(0, None, None, _NOT_MOUNTED, devices_why=_NOT_MOUNTED)


def _most_processes(root: str) -> Optional[int]:
    """A quarter of what the machine can have, so that three tasks that fork without end do not stop everybody else."""
    values = [read(os.path.join(root, "proc/sys/kernel", name)).strip() for name in ("pid_max", "threads-max")]
    known = [int(value) for value in values if value.isdigit()]
    return max(1024, min(known) // 4) if known else None


def _own_folder(mount: str, path: str) -> str:
    """In a container without its own namespace the path does not exist, and the mount itself is our group."""
    folder = os.path.join(mount, path.lstrip("/"))
    return folder if os.path.isdir(folder) else mount


def _version_1(mounts: Dict[str, str], own: Dict[str, str]) -> Groups:
    usable: Dict[str, str] = {}
    problems: List[str] = []
    for controller in ("memory", "cpu"):
        parent = _own_folder(mounts.get(controller, ""), own.get(controller, "/"))
        problem = _try(parent) if controller in mounts else "the controller is not mounted"
        if problem:
            problems.append("{}: {}".format(controller, problem))
        else:
            usable[controller] = parent
    groups = Groups(1, usable.get("memory"), usable.get("cpu"), "; ".join(problems))
    parent = _own_folder(mounts.get("pids", ""), own.get("pids", "/"))
    if "pids" not in mounts or _try(parent):
        return groups
    return replace(groups, processes=parent, home=parent)


def _version_2(parent: str) -> Groups:
    offered = read(os.path.join(parent, "cgroup.controllers")).split()
    if "memory" not in offered:
        return _unlimited(parent, "the memory controller is not delegated to {}".format(parent))
    problem = _delegate(parent, [name for name in ("memory", "cpu", "pids") if name in offered]) or _try(parent)
    if problem:
        return _unlimited(parent, problem)
    why = "" if "cpu" in offered else "the cpu controller is not delegated to {}".format(parent)
    aside = os.path.join(parent, _ASIDE)
    home = aside if os.getpid() in members([aside]) else parent
    return Groups(2, parent, parent if "cpu" in offered else None, why, parent, home)


def _with_devices(groups: Groups, parent: Optional[str]) -> Groups:
    """Find out by trying whether groups in this folder can close devices."""
    why = "the devices controller is not mounted" if groups.version == 1 else groups.why
    if parent is not None:
        why = _try_closing(groups.version, parent)
    return replace(groups, devices=None if why else parent, devices_why=why)


def _try_closing(version: int, parent: str) -> str:
    probe = _probe(parent)
    try:
        os.mkdir(probe)
        try:
            device_rules.close(version, probe, [_HARMLESS])
        finally:
            os.rmdir(probe)
    except OSError as error:
        return "no group in {} can close devices: {}".format(parent, error.strerror)
    return ""


def _unlimited(parent: str, why: str) -> Groups:
    """Groups without controllers, if we may make any: they limit nothing, but know their processes."""
    groups = Groups(2, None, None, why)
    return groups if _try(parent) else replace(groups, processes=parent, home=parent)


def _delegate(parent: str, controllers: Sequence[str]) -> str:
    """Let groups below ours have these controllers. The kernel allows it only where no process sits in between, so
    when the agent is alone in its group it steps aside into a group of its own."""
    control = os.path.join(parent, "cgroup.subtree_control")
    if set(controllers) <= set(read(control).split()):
        return ""
    order = " ".join("+" + name for name in controllers)
    try:
        if members([parent]) == [os.getpid()]:
            aside = os.path.join(parent, _ASIDE)
            os.makedirs(aside, exist_ok=True)
            _write(os.path.join(aside, "cgroup.procs"), str(os.getpid()))
        _write(control, order)
    except OSError as error:
        return "controllers cannot be handed on below {}: {}".format(parent, error.strerror)
    return ""


def _try(parent: str) -> str:
    probe = _probe(parent)
    try:
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError as error:
        return "no group may be made in {}: {}".format(parent, error.strerror)
    return ""


def _probe(parent: str) -> str:
    return os.path.join(parent, "{}probe-{}".format(_PREFIX, os.getpid()))


def _memory_settings(version: int, limit: int) -> Dict[str, str]:
    if version == 1:
        return {"memory.limit_in_bytes": str(limit), "memory.memsw.limit_in_bytes": str(limit)}
    return {"memory.max": str(limit), "memory.swap.max": "0"}


def _cpu_settings(version: int, shares: int) -> Dict[str, str]:
    shares = min(max(shares, 2), 262144)
    if version == 1:
        return {"cpu.shares": str(shares)}
    return {"cpu.weight": str(1 + (shares - 2) * 9999 // 262142)}  # the kernel's own conversion


_OPTIONAL = frozenset(("memory.memsw.limit_in_bytes", "memory.swap.max", "pids.max"))  # absent without their controller


def _apply(folder: str, settings: Dict[str, str]) -> None:
    for name, value in settings.items():
        path = os.path.join(folder, name)
        if name in _OPTIONAL and not os.path.exists(path):
            continue
        _write(path, value)


def _with_parents(path: str) -> List[str]:
    parts = path.strip("/").split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) + 1)]


def _own_memory_groups(root: str) -> List[Tuple[str, str, str]]:
    mounts, own = mounted(root), paths_of("self", root)
    if "memory" in mounts:
        return [(mounts["memory"], own.get("memory", "/"), "memory.limit_in_bytes")]
    return [(mounts[""], own.get("", "/"), "memory.max")] if "" in mounts else []


def _write(path: str, value: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(value)
