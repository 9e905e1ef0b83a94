"""Starts a task's command in a session of its own, with its log as output and nothing inherited but what was asked.

The program is started directly where that cannot hold up the caller: a program of the system, in the task's own
folder, without limits. Otherwise a shell goes before it, because entering a folder and finding a program may take for
ever on a file server that is away, and a control group must be joined before the command runs. The shell does that and
becomes the command. It is also the one to explain why a command cannot be started.
"""

from __future__ import annotations

import os
from typing import Mapping, Optional, Sequence

from muster.agent.isolation.confined_start import DEFAULT_SIGNALS
from muster.agent.system.descriptors import write_into
from muster.agent.tasks.joining import Joining
from muster.agent.tasks.task_folder import LOG, WORK

SHELL = "/bin/sh"

FRONT = r"""
for _muster_group in "$2" "$3"; do
  [ -z "$_muster_group" ] || echo "$$" > "$_muster_group" ||
    echo "muster: cannot join $_muster_group: this task runs without that limit"
done
cd -- "$1" || exit 126
unset _muster_group OLDPWD
shift 3
exec "$@"
"""

_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/")


def spawn(
    folder: str, cwd: str, groups: Joining, argv: Sequence[str], env: Mapping[str, str], given: Optional[str] = None
) -> int:
    """The pid of the command, which leads its session. `given` is what it reads on its standard input."""
    if given is None:
        return _spawn_in_group(folder, cwd, groups, argv, env, os.devnull)
    memory = os.memfd_create("muster-order")
    try:
        os.write(memory, given.encode("utf-8"))
        return _spawn_in_group(folder, cwd, groups, argv, env, "/proc/self/fd/{}".format(memory))
    finally:
        os.close(memory)


def _spawn_in_group(
    folder: str, cwd: str, groups: Joining, argv: Sequence[str], env: Mapping[str, str], stdin: str
) -> int:
    if not groups.through or not _enter(folder, groups.through):
        return _spawn_first(folder, cwd, groups.itself, argv, env, stdin)
    try:
        return _spawn_first(folder, cwd, groups.itself, argv, env, stdin)
    finally:
        write_into(groups.back, b"0")


def _spawn_first(
    folder: str, cwd: str, groups: Sequence[str], argv: Sequence[str], env: Mapping[str, str], stdin: str
) -> int:
    """`groups` are the cgroup.procs files that it joins itself, at most two."""
    is_simple = cwd == os.path.join(folder, WORK) and not groups and argv[0].startswith(_SYSTEM_FOLDERS)
    if is_simple:
        try:
            return _spawn_in(cwd, folder, argv, {**env, "PWD": cwd}, stdin)
        except OSError:
            pass  # the shell says why
    first, second = (list(groups) + ["", ""])[:2]
    return _spawn(folder, [SHELL, "-c", FRONT, "muster-task", cwd, first, second, *argv], env, stdin)


def _enter(folder: str, group: str) -> bool:
    """What we start from here on is in the group from its first moment, whatever it forks."""
    try:
        write_into(group, b"0")
    except OSError as error:
        write_into(os.path.join(folder, LOG), "muster: cannot join {}: {}\n".format(group, error.strerror).encode())
        return False
    return True


def _spawn_in(cwd: str, folder: str, argv: Sequence[str], env: Mapping[str, str], stdin: str) -> int:
    """posix_spawn knows no working folder, so it is ours for that moment."""
    os.chdir(cwd)
    try:
        return _spawn(folder, argv, env, stdin)
    finally:
        os.chdir("/")


def _spawn(folder: str, argv: Sequence[str], env: Mapping[str, str], stdin: str) -> int:
    return os.posix_spawn(
        argv[0],
        list(argv),
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=DEFAULT_SIGNALS,
    )
