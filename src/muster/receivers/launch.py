"""`python -m muster.receivers.launch FOLDER` becomes the receiver of this folder, unless it runs already.

The process writes its own record before it becomes the receiver, and keeps its pid and start by that. So there is no
moment in which a receiver runs that nobody knows of, whoever is killed when.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

from muster.receivers.deployments import Deployment
from muster.receivers.instances import Instance, ProcessRecord
from muster.receivers.processes import mark_of
from muster.receivers.small_files import locked

RUNS_ALREADY = 3
_SETTINGS = (
    "HOME",
    "HOST",
    "PORT",
    "DATABASE",
    "CLUSTERS",
    "PRIVATE_JOBS",
    "STANDBY",
    "SECRETS_KEY_FILE",
    "LOG_LEVEL",
    "LOG_FILE",
    "LOG_SERVER",
)
"""Variables of whoever deploys, by which the settings of every receiver would be overridden."""


def main(folder: Path) -> int:
    instance = _instance_at(folder.absolute())
    if instance is None:
        sys.stderr.write(f"{folder} is not the folder of a receiver that was deployed\n")
        return 2
    with locked(instance.lock):
        if (other := instance.running()) is not None:
            sys.stderr.write(f"{instance.name} runs already, pid {other.mark.pid}\n")
            return RUNS_ALREADY
        mark = mark_of(os.getpid())
        assert mark is not None
        wanted = Deployment(instance.deploy_dir).wanted()[instance.address]
        instance.write_record(ProcessRecord(mark, wanted.generation))
    return _become(instance)


def _instance_at(folder: Path) -> Instance | None:
    found = Deployment(folder.parent).instances()
    return next((instance for instance in found if instance.folder == folder), None)


def _become(instance: Instance) -> NoReturn:
    left_out = {f"MUSTER_{name}" for name in _SETTINGS}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    words = ["--home", str(instance.home), "--config", str(instance.config), "--standby"]
    command = [sys.executable, "-m", "muster.bootstrap", *words]
    os.execve(sys.executable, command, environment)  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
