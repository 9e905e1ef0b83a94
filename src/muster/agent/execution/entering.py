"""The process that enters a task and runs a command there. It outlives neither the command nor the agent.

The command is a child between its fork and its exec when it enters the task's control groups and namespaces, and takes
the account of the task's own process. Everything of the task that decides how is read from /proc, where the task's
process shows it. After the namespaces are entered nothing is done with the agent's rights but taking the account,
because the files are those of somebody else from then on.

Orders come as one line of JSON on a socket. When the other end hangs up, everything that the command has started is
killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

from muster.agent.isolation import system_calls
from muster.agent.isolation.confined_start import DEFAULT_SIGNALS, forked
from muster.agent.system import terminals
from muster.agent.system.child_signals import child_signals
from muster.agent.system.descriptors import write_into
from muster.agent.system.orphans import adopt_orphans
from muster.agent.system.processes import (
    EXEC_MARK,
    Identity,
    ProcessStat,
    boot_id,
    is_alive,
    is_first_of_namespace,
    marked,
    scan,
    send,
)

_CANNOT_START = 126
_TROUBLE = "cannot enter the task"
_KILLED = 128 + signal.SIGKILL
_SHELL = "/bin/sh"
_KILL_ROUNDS = 1000
_LOOK_EVERY_S = 0.01
_NAMESPACES = {
    "user": system_calls.NEW_USERS,
    "ipc": system_calls.NEW_IPC,
    "mnt": system_calls.NEW_MOUNTS,
    "pid": system_calls.NEW_PROCESSES,
}
"""The namespaces in the order in which they are entered: the first gives the rights for the others."""


class Account(NamedTuple):
    uid: int
    gid: int
    groups: Tuple[int, ...]


class Entrance(NamedTuple):
    """What a command takes over from the task's own process."""

    env: Dict[str, str]
    account: Optional[Account]
    """None means our own account."""
    gains_no_rights: bool
    namespaces: Sequence[Tuple[int, int]]
    """Descriptors and kinds."""
    root: Optional[int]
    """The task's root folder, if it has namespaces of its own."""

    @property
    def has_processes(self) -> bool:
        return any(kind == system_calls.NEW_PROCESSES for _, kind in self.namespaces)


class TaskGone(Exception):
    pass


def main(descriptor: int) -> None:
    control = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    order = json.loads(_line(control))
    adopt_orphans()
    ends = child_signals()
    try:
        pid = _spawn(order, control)
    except TaskGone:
        os._exit(_KILLED)
    except OSError as error:
        os.write(2, "muster: cannot enter the task: {}\n".format(error).encode("utf-8", "replace"))
        os._exit(_CANNOT_START)
    _let_go_of_pipes()
    code = _wait(pid, control, ends)
    _kill_the_rest(order["mark"])
    os._exit(code)


def _spawn(order: Mapping[str, Any], control: socket.socket) -> int:
    if order["leader"] is None:
        env = {**os.environ, "TERM": order["terminal"][2]} if order["terminal"] else dict(os.environ)
        return forked(lambda: _become(order, Entrance(env, None, False, (), None), control), _TROUBLE)
    entrance = _entrance(Identity(*order["leader"]))
    env = {**entrance.env, EXEC_MARK: order["mark"], "PWD": order["cwd"]}
    env.pop("OLDPWD", None)
    if order["terminal"]:
        env["TERM"] = order["terminal"][2]
    return forked(lambda: _enter(order, entrance._replace(env=env), control), _TROUBLE)


def _entrance(leader: Identity) -> Entrance:
    """Raises TaskGone if the task has ended. Descriptors are opened before the last look at who the process is."""
    is_namespaced = is_first_of_namespace(leader.pid)
    command = _first_child(leader.pid) if is_namespaced else leader.pid
    if command is None:
        raise TaskGone
    try:
        status = _status(command)
        env = _environment(command)
        names = _NAMESPACES if is_namespaced else ("mnt",)
        namespaces = [
            (_opened("/proc/{}/ns/{}".format(leader.pid, name)), _NAMESPACES[name])
            for name in names
            if _differs(leader.pid, name)
        ]
        root = _opened("/proc/{}/root".format(leader.pid)) if namespaces else None
    except (FileNotFoundError, ProcessLookupError):
        raise TaskGone from None
    if not is_alive(leader, boot_id()):
        raise TaskGone
    uid, gid = int(status["Uid"][0]), int(status["Gid"][0])
    account = Account(uid, gid, tuple(int(group) for group in status["Groups"]))
    is_ours = os.getuid() != 0 or uid == 0
    return Entrance(env, None if is_ours else account, status.get("NoNewPrivs") == ["1"], namespaces, root)


def _first_child(parent: int) -> Optional[int]:
    """The oldest child, which is the task's command. Orphans that the parent has adopted are younger."""
    children = [stat for stat in scan() if stat.parent == parent]
    return min(children, key=lambda stat: (stat.start_ticks, stat.pid)).pid if children else None


def _status(pid: int) -> Dict[str, List[str]]:
    with open("/proc/{}/status".format(pid), encoding="utf-8", errors="replace") as file:
        pairs = (line.partition(":") for line in file)
        return {name: value.split() for name, _, value in pairs}


def _environment(pid: int) -> Dict[str, str]:
    with open("/proc/{}/environ".format(pid), "rb") as file:
        pairs = (os.fsdecode(entry).partition("=") for entry in file.read().split(b"\0"))
        return {name: value for name, sign, value in pairs if name and sign}


def _opened(path: str) -> int:
    flags = os.O_PATH if path.endswith("/root") else os.O_RDONLY
    return os.open(path, flags | os.O_CLOEXEC)


def _differs(pid: int, name: str) -> bool:
    theirs, ours = ("/proc/{}/ns/{}".format(one, name) for one in (pid, "self"))
    return os.stat(theirs).st_ino != os.stat(ours).st_ino


def _enter(order: Mapping[str, Any], entrance: Entrance, control: socket.socket) -> NoReturn:
    for path in order["groups"]:
        try:
            write_into(path, b"0")
        except OSError as error:
            os.write(2, "muster: cannot join {}: {}\n".format(path, error.strerror).encode("utf-8", "replace"))
    for descriptor, kind in entrance.namespaces:
        system_calls.enter_namespace(descriptor, kind)
    if entrance.root is not None:
        os.fchdir(entrance.root)
        os.chroot(".")
    if not entrance.has_processes:
        _become(order, entrance, control)
    # Only a child is in the process namespace. We stay outside of it, and pass on how the child ended.
    child = forked(lambda: _become(order, entrance, control), _TROUBLE)
    _, status = os.waitpid(child, 0)
    os._exit(_code_of(status))


def _become(order: Mapping[str, Any], entrance: Entrance, control: socket.socket) -> NoReturn:
    if entrance.account is not None:
        os.setgroups(list(entrance.account.groups))
        os.setresgid(entrance.account.gid, entrance.account.gid, entrance.account.gid)
        os.setresuid(entrance.account.uid, entrance.account.uid, entrance.account.uid)
    os.setsid()
    if order["terminal"]:
        _open_terminal(order["terminal"], control)
    if entrance.gains_no_rights:
        system_calls.give_up_new_privileges()
    signal.set_wakeup_fd(-1)
    for number in DEFAULT_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if order["leader"] is not None:
        os.chdir(order["cwd"])
    argv = order["argv"]
    try:
        os.execvpe(argv[0], argv, entrance.env)
    except OSError:
        # The shell explains best why a command cannot be started, and runs scripts that do not name their shell.
        os.execve(_SHELL, [_SHELL, "-c", 'exec "$@"', "muster-exec", *argv], entrance.env)


def _open_terminal(terminal: Sequence[Any], control: socket.socket) -> None:
    """Open a terminal that belongs to the account, among the devices that the task sees, and send the other end."""
    rows, columns, _ = terminal
    master, slave = terminals.opened(rows, columns)
    terminals.send_descriptor(control, master)
    terminals.take(slave)


def _let_go_of_pipes() -> None:
    """Otherwise a command that closes its input would not be noticed."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)


def _wait(pid: int, control: socket.socket, ends: int) -> int:
    """How the command has ended, or that it has to, because the agent has hung up."""
    while True:
        ended, status = _next_ended()
        if ended == pid:
            return _code_of(status)
        if ended:
            continue
        ready, _, _ = select.select([control.fileno(), ends], [], [])
        if ends in ready:
            os.read(ends, 65536)
        if control.fileno() in ready and not control.recv(1):
            return _KILLED


def _kill_the_rest(mark: str) -> None:
    """Kill our descendants, and what carries the mark of the command: a process in the namespace of the task that lost
    its parent is a child of the task's first process."""
    for _ in range(_KILL_ROUNDS):
        while _next_ended()[0]:
            pass
        rest = {*_descendants(list(scan())), *marked(mark, variable=EXEC_MARK)} - {os.getpid()}
        if not rest:
            return
        for pid in rest:
            send(pid, signal.SIGKILL)
        time.sleep(_LOOK_EVERY_S)


def _descendants(processes: Sequence[ProcessStat]) -> List[int]:
    found = [os.getpid()]
    for parent in found:
        found += [stat.pid for stat in processes if stat.parent == parent]
    return found[1:]


def _next_ended() -> Tuple[int, int]:
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0, 0


def _code_of(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _line(control: socket.socket) -> bytes:
    told = b""
    while not told.endswith(b"\n"):
        more = control.recv(65536)
        if not more:
            os._exit(_KILLED)
        told += more
    return told
