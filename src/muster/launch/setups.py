"""The setup of a job: a command that prepares a folder on each node before the tasks start there.

Tasks with the same key share what one of them has prepared. The key has everything that the setup can see: whatever
differs in it may make a different result. Whose it is, is not part of it: each user has a folder of their own.
"""

import hashlib
import json

from muster.domain.launch_requests import SetupUse
from muster.domain.specs import JobSpec, Role
from muster.launch.setup_script import SCRIPT
from muster.launch.shells import shell_command

SCRIPT_FILE = "setup.sh"
ENTRY_VARIABLE = "MUSTER_SETUP_ENTRY"
"""The folder for what is prepared, and for the states of the tasks that wait for it. Each backend says where it is."""
_VERSION = 1
"""Part of every key: what an earlier version of the script has prepared is not used by a later one."""
_KEY_LETTERS = 32
_NAME = "muster-setup"
_START = '. "$MUSTER_TASK_DIR/setup.sh"'
_START_BESIDE = 'MUSTER_STARTED_IN=$PWD; export MUSTER_STARTED_IN; cd "$MUSTER_TASK_DIR/work" && ' + _START
_RETURN = 'cd "$MUSTER_STARTED_IN" && unset MUSTER_STARTED_IN && exec "$@"'


def setup_command(spec: JobSpec, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the setup before it."""
    if spec.setup is None:
        return command
    words = _words(spec.setup.command)
    count = str(len(words))
    if not spec.runtime.workdir:
        return ("/bin/sh", "-c", _START, _NAME, count, *words, *command)
    # The setup runs in the task's folder, and only the container knows where the command is to start.
    return ("/bin/sh", "-c", _START_BESIDE, _NAME, count, *words, "/bin/sh", "-c", _RETURN, "sh", *command)


def _words(command: tuple[str, ...]) -> tuple[str, ...]:
    """A text runs as that of a task does, but under another name, by which the command of the task is not meant."""
    if command[:-1] != ("/bin/sh", "-c"):
        return command
    words = shell_command(command[-1])
    return (*words[:3], _NAME, *words[4:])


def setup_files(spec: JobSpec) -> dict[str, str]:
    return {} if spec.setup is None else {SCRIPT_FILE: SCRIPT}


def setup_use(spec: JobSpec, role: Role, gang_key: str) -> SetupUse | None:
    """One that is not kept is for the tasks of one attempt."""
    if spec.setup is None:
        return None
    seen = {
        "version": _VERSION,
        "command": spec.setup.command,
        "package": spec.package,
        "runtime": [spec.runtime.conda, spec.runtime.venv, spec.runtime.image],
        "mounts": [[mount.source, mount.target] for mount in spec.mounts if mount.target.startswith("/")],
        "env": {**spec.env, **role.env},
        "secrets": sorted([use.name, use.env, use.file] for use in spec.secrets),
        "attempt": "" if spec.setup.cache else gang_key,
    }
    text = json.dumps(seen, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:_KEY_LETTERS]
    return SetupUse(spec.setup.command, key, is_kept=spec.setup.cache)
