"""The process between the agent and a command: a POSIX shell script that records when it starts and how it ends.

It uses builtins only, because every external command would cost more than the whole rest of a launch. It survives
TERM, INT and HUP, which are meant for the command: trapped by a handler, not ignored, so that the command itself
starts with the default dispositions. The command runs in the foreground for the same reason: a shell without job
control starts background commands with INT ignored.

Positional parameters: folder, task, boot id, working directory, two cgroup.procs files (or empty), then the command.
Descriptor 1 is the log; the notice of the start goes to 3, a pipe that all supervisors share.
"""

from __future__ import annotations

import os
import signal
from typing import Mapping, Sequence

from muster.agent.tasks.task_folder import LOG

SHELL = "/bin/sh"

SCRIPT = r"""
trap : TERM INT HUP PIPE
set -fC
read -r _muster_stat < /proc/$$/stat || exit 0
_muster_start_of() { shift 19; _muster_start=$1; }
_muster_start_of ${_muster_stat##*") "}
printf '%s %s %s\n' "$$" "$_muster_start" "$3" > "$1/started" || exit 0
printf '%s %s %s\n' "$2" "$$" "$_muster_start" >&3
exec 3>&-
_muster_folder=$1 _muster_cwd=$4
for _muster_group in "$5" "$6"; do
  [ -z "$_muster_group" ] || echo "$$" >| "$_muster_group" ||
    echo "muster: cannot join $_muster_group: this task runs without that limit"
done
shift 6
(
  exec 2>&1
  cd -- "$_muster_cwd" || exit 126
  unset OLDPWD
  exec "$@"
)
_muster_code=$?
printf '%s\n' "$_muster_code" > "$_muster_folder/exit"
exit "$_muster_code"
"""

# Python ignores some of these, and whoever started us may have ignored others; a command must see none of that.
_DEFAULT_SIGNALS = (
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


def spawn(
    folder: str,
    task: str,
    boot_id: str,
    cwd: str,
    groups: Sequence[str],
    argv: Sequence[str],
    env: Mapping[str, str],
    notice_fd: int,
) -> int:
    """Start a supervisor in a session of its own; its pid. posix_spawn, because it is the cheapest that Python has."""
    first, second = (list(groups) + ["", ""])[:2]
    arguments = [SHELL, "-c", SCRIPT, "muster-task", folder, task, boot_id, cwd, first, second, *argv]
    return os.posix_spawn(
        SHELL,
        arguments,
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, notice_fd, 3),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=_DEFAULT_SIGNALS,
    )
