"""A task's folder on disk: what lies in it under which name, how it is made and how it is taken away.

Everything in it belongs to the agent's user alone (0700, 0600), or to the task's. The environment of a task, which may
hold secrets, is never written here. The values of its secrets are, until it ends: see `task_secrets`.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

from muster.agent.system.disk import write, write_json

LOG = "log"
DROPPED = "log.dropped"
SAVED_LOG = "log.saved"
LOG_TIMES = "log.times"
STARTED = "started"
EXIT = "exit"
WORK = "work"
FACTS = "task.json"
OWN = "own"
"""The fact that says whether the task belongs to the person under whose account the agent runs."""
STOP = "stop"
ERROR = "error"
OOM = "oom"
CHECKPOINT = "checkpoint"
TRACKING = "tracking-url"
"""The address at which the task says that it can be followed."""
METRICS = "metrics"
"""The metrics that the task reports, one JSON object in each line."""
EPILOG = "epilog"
CONTAINER_ENV = "container.env"
CONTAINER_VARIABLES = "variables.sh"
CONTAINER_STATE = "container.state"
REGISTRY = "registry"
"""The folder with the credentials for the registry of an image, until that is there."""
SECRETS = "secrets"
MASKED = "masked"
USED = "used"
RUSAGE = "rusage"
ATTACH = "attach"
"""The socket of the process that holds the standard input of the task."""
SSH = "ssh"
"""What the SSH server of the task needs: its keys, and the environment of the task."""
SYSTEM_FILE = ".muster-{}"
"""A file of the system that the task sees instead of that of the node."""
SCRIPT_FILES = ".muster-task-"
"""How folders in the working folder begin that Muster's own scripts make there. They are no outputs."""
SETUP = "setup"
"""The result of a setup that cannot be shared with other tasks."""

RESERVED_NAMES = frozenset(
    (
        *(LOG, DROPPED, SAVED_LOG, LOG_TIMES, STARTED, EXIT, WORK, FACTS, STOP, ERROR, OOM),
        *(CHECKPOINT, TRACKING, METRICS, CONTAINER_STATE, REGISTRY, SECRETS, MASKED, EPILOG, USED, RUSAGE, ATTACH),
        *(SETUP, SSH),
    )
)


def prepare(folder: str, facts: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Make the folder, or complete one that an earlier try left half made."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    for name, content in files.items():
        write(os.path.join(folder, name), content)
    for name in (LOG, METRICS):
        os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    write_json(os.path.join(folder, FACTS), facts)


def make_reports(folder: str) -> None:
    """The files by which a task reports something, for one that may not make files in its folder itself. A time of 0
    means that it has saved nothing yet."""
    for name in (CHECKPOINT, TRACKING):
        path = os.path.join(folder, name)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            continue
        os.utime(path, (0, 0))


def make_work(folder: str) -> None:
    try:
        os.mkdir(os.path.join(folder, WORK), 0o700)
    except FileExistsError:
        pass
