"""Reads from /proc which process is which, and which processes belong to a task.

A process is its pid, its start time and the boot it lived in; the pid alone may long belong to somebody else.
A task's processes are those of its session and those that carry its mark in their environment, so that one which
forked away and started a session of its own is found too.
"""

from __future__ import annotations

import os
import signal
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

# The folder and not the task's name: two agents on one machine may know tasks of the same name.
MARK = "MUSTER_TASK_DIR"
EXEC_MARK = "MUSTER_EXEC"
"""The mark of a command that somebody runs on the node or in a task, besides that of the task."""

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Identity(NamedTuple):
    pid: int
    start_ticks: int
    boot_id: str


class ProcessStat(NamedTuple):
    pid: int
    state: str
    parent: int
    session: int
    cpu_ticks: int  # its own and of the children it has waited for
    start_ticks: int
    rss_pages: int

    @property
    def dead(self) -> bool:
        return self.state in "ZX"


class Target(NamedTuple):
    """A task whose processes are sought; without a leader of its session only the mark tells them. A mark does not
    count on a process that runs under the account of somebody else, or in the control group of another task."""

    task: str
    folder: str
    leader: Optional[Identity]
    spares_leader: bool
    account: Optional[int] = None
    """The account of the task alone; None if it runs under ours."""
    groups: Tuple[str, ...] = ()


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def own_peak_bytes() -> int:
    """The most memory that this process has had; 0 if the kernel does not say."""
    with open("/proc/self/status", "rb") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM:")), 0)


def read_stat(pid: int) -> Optional[ProcessStat]:
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            return parse_stat(file.read())
    except (OSError, ValueError, IndexError):
        return None


def identity_of(pid: int, current_boot: str) -> Identity:
    """Returns the identity of a process that still exists: ourselves, or a child that has not been waited for."""
    stat = read_stat(pid)
    assert stat is not None
    return Identity(pid, stat.start_ticks, current_boot)


def parse_stat(data: bytes) -> ProcessStat:
    # The command name stands in parentheses and may itself hold spaces and parentheses.
    head, _, tail = data.rpartition(b")")
    fields = tail.split()
    return ProcessStat(
        pid=int(head.split(b" ", 1)[0]),
        state=fields[0].decode("ascii"),
        parent=int(fields[1]),
        session=int(fields[3]),
        cpu_ticks=sum(int(field) for field in fields[11:15]),
        start_ticks=int(fields[19]),
        rss_pages=int(fields[21]),
    )


def is_alive(identity: Identity, current_boot: str) -> bool:
    if identity.boot_id != current_boot:
        return False
    stat = read_stat(identity.pid)
    return stat is not None and not stat.dead and stat.start_ticks == identity.start_ticks


def scan() -> Iterator[ProcessStat]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = read_stat(int(name))
            if stat is not None and not stat.dead:
                yield stat


def find_members(targets: Sequence[Target], current_boot: str) -> Dict[str, List[int]]:
    """The living processes of all these tasks, leaders that are to be spared left out, from one pass over /proc."""
    wanted = {os.fsencode(target.folder): target for target in targets}
    sessions = _sessions(targets, current_boot)
    spared = {
        (one.leader.pid, one.leader.start_ticks) for one in targets if one.leader is not None and one.spares_leader
    }
    members: Dict[str, Set[int]] = {target.task: set() for target in targets}
    by_session: List[Tuple[int, int]] = []
    foreign: Set[int] = set()
    for stat in scan():
        if (stat.pid, stat.start_ticks) in spared or stat.pid == os.getpid():
            continue
        if stat.pid in sessions and stat.start_ticks != sessions[stat.pid][1].start_ticks:
            foreign.add(stat.pid)  # the number has gone to a new leader, and so has its session
        if stat.session in sessions:
            by_session.append((stat.session, stat.pid))
        target = wanted.get(mark_of(stat.pid))
        if target is not None and not _is_of_others(stat.pid, target):
            members[target.task].add(stat.pid)
    for session, pid in by_session:
        if session not in foreign:
            members[sessions[session][0]].add(pid)
    return {task: sorted(pids) for task, pids in members.items() if pids}


def mark_of(pid: int, variable: str = MARK) -> bytes:
    """The folder of the task that it says it belongs to; empty when it says nothing, or may not be asked."""
    start = variable.encode("ascii") + b"="
    try:
        with open("/proc/{}/environ".format(pid), "rb") as file:
            environ = file.read()
    except OSError:
        return b""
    if not environ.startswith(start):
        _, found, environ = environ.partition(b"\0" + start)
        return environ.partition(b"\0")[0] if found else b""
    return environ[len(start) :].partition(b"\0")[0]


def real_account(pid: int) -> Optional[int]:
    """Who started the process; None if it is gone. Taking the rights of another account does not change it."""
    try:
        with open("/proc/{}/status".format(pid), "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"Uid:")), None)
    except (OSError, ValueError, IndexError):
        return None


def is_first_of_namespace(pid: int) -> bool:
    """Returns whether the process is number 1 in a process namespace below ours."""
    try:
        with open("/proc/{}/status".format(pid), "rb") as file:
            numbers = next((line.split()[1:] for line in file if line.startswith(b"NSpid:")), [])
    except OSError:
        return False
    return len(numbers) > 1 and numbers[-1] == b"1"


def kill_all(pids: Iterable[int]) -> None:
    for pid in pids:
        send(pid, signal.SIGKILL)


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def send_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def _is_of_others(pid: int, target: Target) -> bool:
    """Whether its mark is a lie: anybody may put the folder of another task into the environment."""
    if target.account is not None and real_account(pid) not in (target.account, 0, os.getuid()):
        return True
    return bool(target.groups) and _is_in_another(pid, os.path.basename(target.groups[0]))


def _is_in_another(pid: int, own: str) -> bool:
    """Whether it is in a control group that this agent has made for another task, which is called as this one is but
    for the name of the task in the middle."""
    start, end = own.partition("-")[0] + "-", "." + own.rpartition(".")[2]
    try:
        with open("/proc/{}/cgroup".format(pid), encoding="utf-8", errors="replace") as file:
            names = {name for line in file for name in line.rstrip("\n").split(":", 2)[-1].split("/")}
    except OSError:
        return False
    return own not in names and any(name.startswith(start) and name.endswith(end) for name in names)


def _sessions(targets: Sequence[Target], current_boot: str) -> Dict[int, Tuple[str, Identity]]:
    return {
        target.leader.pid: (target.task, target.leader)
        for target in targets
        if target.leader is not None and target.leader.boot_id == current_boot
    }


def marked(mark: str, but: Optional[str] = None, variable: str = MARK) -> List[int]:
    """The processes that have this mark, or one below it, in their environment, and not the other one."""
    found = ((stat.pid, mark_of(stat.pid, variable)) for stat in scan())
    return [pid for pid, borne in found if _is_below(borne, mark) and not (but and _is_below(borne, but))]


def _is_below(borne: bytes, mark: str) -> bool:
    return (borne + b"/").startswith(os.fsencode(mark) + b"/")
