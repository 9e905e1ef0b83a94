"""Starts a task's command under another account, or in namespaces of its own.

The calls are made by a child of the shim, between its fork and its exec, because they hold for the process that makes
them and for all that it starts. A namespaced command has a small first process before it, a fork of the shim: the
kernel treats the first process of a process namespace like the machine's own, which most programs are not made for. It
passes on how the command ended, and with its end everything in the namespace is killed.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
from typing import Callable, Iterable, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

from muster.agent.isolation import copy_of_mounts, system_calls, views
from muster.agent.isolation.views import Bind
from muster.agent.system import terminals
from muster.agent.system.descriptors import close_inherited, write_into
from muster.agent.system.start_script import EXEC

_CANNOT_START = 126
# Python ignores some of these, and the shim handles others.
DEFAULT_SIGNALS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGTERM,
    signal.SIGCHLD,
    signal.SIGXFSZ,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_SHELL = "/bin/sh"


class Confinement(NamedTuple):
    """It travels to the shim as JSON, so its parts are made of lists and texts."""

    identity: Optional[Tuple[int, int, Sequence[int]]]
    """The account. None: that of the agent, in a user namespace."""
    namespaced: bool
    covered: Optional[str]
    """The folder that is covered for a task that is not namespaced."""
    binds: Sequence[Tuple[str, bool]]
    """What a namespaced task sees besides the system: path, and whether it is read-only."""
    devices: Sequence[str]
    root_files: Sequence[Tuple[str, Optional[str]]] = ()
    """What a namespaced task finds at its root: the content, or None for an empty file that it may write."""
    replaced: Sequence[Tuple[str, str]] = ()
    """Files of the system that the task sees replaced: path, and what it sees instead."""

    @property
    def needs_mounts(self) -> bool:
        """Whether a task that is not namespaced needs mounts of its own."""
        return self.covered is not None or bool(self.replaced)


class Command(NamedTuple):
    folder: str
    log: Optional[str]
    """None means that it has the output of the process that starts it."""
    cwd: str
    groups: Sequence[str]
    """The files by which the control groups are entered."""
    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: Optional[int] = None
    """The descriptor of its standard input. None: it has nothing to read."""
    terminal: Optional[int] = None
    """The descriptor of a socket on which the other end of its terminal is sent. None: it has no terminal."""


def spawn(command: Command, confinement: Confinement) -> int:
    """The pid of the process whose end is the task's. It leads its session. Called by a process with one thread."""
    if not confinement.namespaced:
        return forked(lambda: run_as_account(command, confinement))
    return _spawn_namespaced(command, confinement)


def _spawn_namespaced(command: Command, confinement: Confinement) -> int:
    reading, writing = os.pipe()
    helper = forked(lambda: _make_namespaces(command, confinement, writing))
    os.close(writing)
    try:
        told = os.read(reading, 32)
    finally:
        os.close(reading)
    os.waitpid(helper, 0)
    if not told:
        raise OSError(errno.EPERM, "no namespaces can be made for the task")
    return int(told)


def _make_namespaces(command: Command, confinement: Confinement, writing: int) -> NoReturn:
    """The helper ends at once, and its child, the first process of the namespaces, becomes a child of the shim."""
    _open_standard(command.log, command.stdin)
    _enter_groups(command.groups)
    new = system_calls.NEW_MOUNTS | system_calls.NEW_PROCESSES | system_calls.NEW_IPC
    if confinement.identity is None:
        uid, gid = os.getuid(), os.getgid()
        system_calls.unshare(new | system_calls.NEW_USERS)
        write_into("/proc/self/setgroups", b"deny")
        write_into("/proc/self/uid_map", "{0} {0} 1".format(uid).encode("ascii"))
        write_into("/proc/self/gid_map", "{0} {0} 1".format(gid).encode("ascii"))
    else:
        system_calls.unshare(new)
    first = forked(lambda: _be_first(command, confinement))
    os.write(writing, str(first).encode("ascii"))
    os._exit(0)


def _be_first(command: Command, confinement: Confinement) -> NoReturn:
    os.setsid()
    kept = () if command.terminal is None else (command.terminal,)
    close_inherited(kept)  # it lives as long as the task, and must not hold the shim's connection to its agent
    is_stopping: List[int] = []
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, lambda number, frame: is_stopping.append(number))
    views.enter_system_view(
        command.folder,
        [Bind(path, bool(ro)) for path, ro in confinement.binds],
        confinement.devices,
        confinement.replaced,
        views.RootFiles(confinement.root_files, None if confinement.identity is None else confinement.identity[:2]),
    )
    _take_terminal(command, confinement)
    child = forked(lambda: _become(command, confinement))
    while True:
        ended, status = os.wait()
        if ended == child:
            break
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    if is_stopping:
        _wait_for_all()
    os._exit(code)


def _wait_for_all() -> None:
    """A task that is being stopped may take its time; the agent kills what is left when the time is over."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def run_as_account(
    command: Command, confinement: Confinement, copy_mounts: Callable[[], None] = copy_of_mounts.make
) -> NoReturn:
    os.setsid()
    _open_standard(command.log, command.stdin)
    _enter_groups(command.groups)
    if confinement.needs_mounts:
        copy_mounts()
    views.replace_files(confinement.replaced)
    if confinement.covered is not None:
        views.cover(confinement.covered, [Bind(path, bool(ro)) for path, ro in confinement.binds])
    _take_terminal(command, confinement)
    _become(command, confinement)


def rehearse(command: Command, confinement: Confinement) -> None:
    """Do once, without consequences, what takes a fork long the first time because it copies the memory that it
    changes. That is most of the time that the start of a command under an account takes. This process must have a copy
    of the mounts if a folder is covered."""
    if confinement.covered is not None:
        views.cover(confinement.covered, [Bind(os.path.dirname(command.folder), read_only=True)])
        views.uncover(confinement.covered)
    _open_standard(os.devnull, None)
    _enter_groups([os.devnull])
    _give_up_inherited()
    _readable(command.env.get("PATH", ""))


def _become(command: Command, confinement: Confinement) -> NoReturn:
    """Take the account's identity and become the command."""
    if confinement.identity is not None:
        uid, gid, groups = confinement.identity
        os.setgroups(list(groups))
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    _give_up_inherited()
    os.chdir(command.cwd)
    env = {**command.env, "PWD": command.cwd}
    if "PATH" in env:
        env["PATH"] = _readable(env["PATH"])
    try:
        os.execvpe(command.argv[0], list(command.argv), env)
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise OSError(error.errno, "Argument list too long") from error
        # The shell explains best why a command cannot be started, and runs scripts that do not name their shell.
        os.execve(_SHELL, [_SHELL, "-c", EXEC, "muster-task", *command.argv], env)


def _give_up_inherited() -> None:
    """Give up what a command must not inherit: the way to more rights, and signals that Python ignores."""
    system_calls.give_up_new_privileges()
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)  # the shim handles the others, and no handler outlives the exec


def _readable(path: str) -> str:
    """The folders of a PATH without those that the account may not enter, or whose Python it may not run because it
    leads to such a folder. With them, a program that is nowhere, or in a later folder, would be reported as one that
    may not be run."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if not _is_closed(folder))


def _is_closed(folder: str) -> bool:
    return any(_is_forbidden(os.path.join(folder, name)) for name in (".", "python3"))


def _is_forbidden(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        pass  # it may be made later
    return False


def forked(body: Callable[[], NoReturn], trouble: str = "this task cannot be isolated") -> int:
    """Runs the body in a child. What it raises ends the child, after `trouble` was said."""
    pid = os.fork()
    if pid:
        return pid
    try:
        body()
    except BaseException as error:
        os.write(2, "muster: {}: {}\n".format(trouble, error).encode("utf-8", "replace"))
    finally:
        os._exit(_CANNOT_START)


def _open_standard(log: Optional[str], stdin: Optional[int]) -> None:
    os.dup2(os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin, 0)
    if log is None:
        return
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    os.dup2(fd, 1)
    os.dup2(fd, 2)


def _take_terminal(command: Command, confinement: Confinement) -> None:
    """Open a terminal among the devices that the task sees, for the leader of its session, and give it to the task's
    account."""
    if command.terminal is None:
        return
    master, slave = terminals.opened()
    if confinement.identity is not None:
        os.fchown(slave, confinement.identity[0], -1)
    with socket.socket(fileno=command.terminal) as wanted:
        terminals.send_descriptor(wanted, master)
    os.close(master)
    terminals.take(slave)
    os.close(slave)


def _enter_groups(files: Iterable[str]) -> None:
    for path in files:
        try:
            write_into(path, b"0")
        except OSError as error:
            os.write(2, "muster: cannot join {}: {}\n".format(path, error.strerror).encode("utf-8", "replace"))
