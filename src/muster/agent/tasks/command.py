"""Starts a task's command in a session of its own, with its log as output and nothing inherited but what was asked.

The program is started directly where that cannot hold up the caller: a program of the system, in the task's own
folder, without limits. Otherwise a shell goes before it, because entering a folder and finding a program may take for
ever on a file server that is away, and a control group must be joined before the command runs. The shell does that and
becomes the command. It is also the one to explain why a command cannot be started.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Tuple

from muster.agent.interaction.held_input import HeldInput
from muster.agent.isolation.confined_start import DEFAULT_SIGNALS
from muster.agent.system.descriptors import write_into
from muster.agent.system.start_script import EXEC
from muster.agent.tasks.joining import Joining
from muster.agent.tasks.task_folder import LOG, WORK

SHELL = "/bin/sh"

_ENTER = r"""
for _muster_group in "$2" "$3"; do
  [ -z "$_muster_group" ] || echo "$$" > "$_muster_group" ||
    echo "muster: cannot join $_muster_group: this task runs without that limit"
done
cd -- "$1" || exit 126
unset _muster_group OLDPWD
shift 3
"""

FRONT = _ENTER + EXEC

_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/")

Standard = Sequence[Tuple[Any, ...]]
"""What is done to open standard input, output and errors."""


def spawn(
    folder: str, cwd: str, groups: Joining, argv: Sequence[str], env: Mapping[str, str], given: Optional[str] = None
) -> int:
    """The pid of the command, which leads its session. `given` is what it reads on its standard input."""
    if given is None:
        return _spawn_in_group(folder, cwd, groups, argv, env, [_reading(os.devnull), *_writing_to_log(folder)])
    memory = os.memfd_create("muster-order")
    try:
        os.write(memory, given.encode("utf-8"))
        standard = [_reading("/proc/self/fd/{}".format(memory)), *_writing_to_log(folder)]
        return _spawn_in_group(folder, cwd, groups, argv, env, standard)
    finally:
        os.close(memory)


def spawn_interactive(
    folder: str, cwd: str, groups: Joining, argv: Sequence[str], env: Mapping[str, str], held: HeldInput
) -> int:
    """The same, for a command whose standard input stays open. A leader of a session that opens a terminal has it as
    its own, unless it says otherwise."""
    if held.terminal is None:
        standard = [(os.POSIX_SPAWN_DUP2, held.stdin, 0), *_writing_to_log(folder)]
    else:
        flags = os.O_RDWR | (0 if held.is_taken else os.O_NOCTTY)
        standard = [(os.POSIX_SPAWN_OPEN, 0, held.terminal, flags, 0)]
        standard += [(os.POSIX_SPAWN_DUP2, 0, fd) for fd in (1, 2)]
    return _spawn_in_group(folder, cwd, groups, argv, env, standard)


def _spawn_in_group(
    folder: str, cwd: str, groups: Joining, argv: Sequence[str], env: Mapping[str, str], standard: Standard
) -> int:
    if not groups.through or not _enter(folder, groups.through):
        return _spawn_first(folder, cwd, groups.itself, argv, env, standard)
    try:
        return _spawn_first(folder, cwd, groups.itself, argv, env, standard)
    finally:
        write_into(groups.back, b"0")


def _spawn_first(
    folder: str, cwd: str, groups: Sequence[str], argv: Sequence[str], env: Mapping[str, str], standard: Standard
) -> int:
    """`groups` are the cgroup.procs files that it joins itself, at most two."""
    is_simple = cwd == os.path.join(folder, WORK) and not groups and argv[0].startswith(_SYSTEM_FOLDERS)
    if is_simple:
        try:
            return _spawn_in(cwd, argv, {**env, "PWD": cwd}, standard)
        except OSError:
            pass  # the shell says why
    first, second = (list(groups) + ["", ""])[:2]
    return _spawn([SHELL, "-c", FRONT, "muster-task", cwd, first, second, *argv], env, standard)


def _enter(folder: str, group: str) -> bool:
    """What we start from here on is in the group from its first moment, whatever it forks."""
    try:
        write_into(group, b"0")
    except OSError as error:
        write_into(os.path.join(folder, LOG), "muster: cannot join {}: {}\n".format(group, error.strerror).encode())
        return False
    return True


def _spawn_in(cwd: str, argv: Sequence[str], env: Mapping[str, str], standard: Standard) -> int:
    """posix_spawn knows no working folder, so it is ours for that moment."""
    os.chdir(cwd)
    try:
        return _spawn(argv, env, standard)
    finally:
        os.chdir("/")


def _spawn(argv: Sequence[str], env: Mapping[str, str], standard: Standard) -> int:
    return os.posix_spawn(
        argv[0],
        list(argv),
        env,
        file_actions=standard,
        setsid=True,
        setsigmask=[],
        setsigdef=DEFAULT_SIGNALS,
    )


def _reading(path: str) -> Tuple[Any, ...]:
    return (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDONLY, 0)


def _writing_to_log(folder: str) -> Standard:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return [(os.POSIX_SPAWN_OPEN, 1, os.path.join(folder, LOG), flags, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
