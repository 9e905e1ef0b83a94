"""What the suite needs to know of a backend to drive it: how it is made, and how its tasks are made to do something."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from muster.domain.launch_requests import GangLaunch
from muster.domain.tasks import Task
from muster.ports.backend import Backend

LOG_BYTES = 1 << 20
OWNER = "amy"
"""The owner of all gangs, and the person whose account the backends of this suite run under."""


@dataclass(frozen=True, slots=True)
class FolderArchives:
    """Implements `ports.archives.Archives` over a folder, without a server."""

    folder: Path

    def path(self, digest: str) -> Path:
        return self.folder / f"{digest}.tar.gz"

    def url(self, digest: str, lifetime_s: float) -> str:
        return self.path(digest).as_uri()


class TaskControl(Protocol):
    """What the tasks do. `programs.Programs` is for backends that start real processes."""

    @property
    def are_processes(self) -> bool:
        """Whether tasks are real processes, with a working folder and an environment."""
        ...

    def command(self) -> tuple[str, ...]:
        """The command of every task: it runs until it is ended from here."""
        ...

    def expect(self, task: Task) -> None:
        """The task is about to be launched."""
        ...

    def finish(self, task: Task, exit_code: int) -> None: ...

    def kill(self, task: Task, signal: int) -> None:
        """The task dies of a signal that Muster did not send."""
        ...

    def says(self, task: Task, line: str) -> None:
        """The task prints a line."""
        ...

    def leaves(self, task: Task, files: Mapping[str, str]) -> None:
        """The task writes these files to its working folder."""
        ...

    def starts(self, task: Task) -> int:
        """How often the task was really started."""
        ...


class Outage(Protocol):
    """How the nodes or the engine of a backend stop answering. Tasks run on meanwhile."""

    def begin(self, backend: Backend) -> None: ...

    def end(self, backend: Backend) -> None: ...


class QueueControl(Protocol):
    """Whether an engine has room."""

    def fill(self) -> None:
        """Others use all that there is."""
        ...

    def free(self) -> None: ...


class Harness(Protocol):
    """One backend and the state that outlives it, for one test."""

    @property
    def archives(self) -> FolderArchives: ...

    @property
    def tasks(self) -> TaskControl: ...

    @property
    def outage(self) -> Outage | None:
        """None if the backend cannot be made unreachable."""
        ...

    @property
    def queue(self) -> QueueControl | None:
        """None unless the backend's engine places tasks."""
        ...

    @property
    def node(self) -> str:
        """Where tasks are placed; empty where the engine places them."""
        ...

    @property
    def folder(self) -> str:
        """An empty folder on the node, by its path there; empty if the backend offers no files."""
        ...

    def backend(self) -> Backend:
        """A new backend, not started, over the same state as the ones before it."""
        ...

    def refused(self, launch: GangLaunch) -> GangLaunch:
        """The launch, changed so that the backend refuses it."""
        ...

    def measure(self) -> None:
        """Have the node take a sample of its usage. Does nothing where nodes do so by themselves."""
        ...

    def close(self) -> None:
        """End what still runs, and remove all that was made outside the test's own folder."""
        ...
