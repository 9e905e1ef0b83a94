"""The local backend: an agent that the backend starts on this machine, and starts again as soon as it is gone."""

import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from muster.backends.local.backend import LocalBackend
from muster.domain.launch_requests import GangLaunch
from muster.ports.backend import Backend
from tests.contract.backends.harness import LOG_BYTES, OWNER, FolderArchives
from tests.contract.backends.programs import Programs
from tests.parts.leftovers import task_processes


class LocalHarness:
    node = "here"
    outage = None
    queue = None

    def __init__(self, folder: Path) -> None:
        self.archives = FolderArchives(folder)
        self.tasks = Programs(folder / "programs")
        self._root = folder / "node"
        files = folder / "files"
        files.mkdir()
        self.folder = str(files)

    def backend(self) -> Backend:
        return LocalBackend("local", self.node, self._root, self.archives, own_user=OWNER, log_bytes=LOG_BYTES)

    def refused(self, launch: GangLaunch) -> GangLaunch:
        return without_commands(launch)

    def measure(self) -> None:
        """Agents do so by themselves."""

    def close(self) -> None:
        for pid in task_processes(self._root):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.tasks.close()


def without_commands(launch: GangLaunch) -> GangLaunch:
    """No agent starts a task without a command."""
    return replace(launch, requests=tuple(replace(one, argv=()) for one in launch.requests))
