"""The fake in memory: its tasks do what the harness says."""

from collections.abc import Mapping
from pathlib import Path

from muster.domain.errors import Rejected
from muster.domain.launch_requests import GangLaunch
from muster.domain.tasks import Task
from muster.ports.backend import Backend
from muster.ports.capabilities import NodeUsage
from tests.contract.backends.harness import FolderArchives
from tests.parts.fake_backend import FakeBackend


class FakeHarness:
    node = "n1"
    folder = ""
    queue = None

    def __init__(self, folder: Path) -> None:
        self.archives = FolderArchives(folder)
        self._fake = FakeBackend()
        self.tasks = FakeTasks(self._fake)
        self.outage = FakeOutage(self._fake)

    def backend(self) -> Backend:
        return self._fake

    def refused(self, launch: GangLaunch) -> GangLaunch:
        self._fake.refusals += [Rejected("not here", reason="bad-request")] * len(launch.pending)
        return launch

    def measure(self) -> None:
        self._fake.clock += 1.0
        self._fake.measured(self.node, NodeUsage(self._fake.clock, {}, {}, received_at=self._fake.clock))

    def close(self) -> None:
        """Nothing was started."""


class FakeTasks:
    """Implements `harness.TaskControl`."""

    are_processes = False

    def __init__(self, fake: FakeBackend) -> None:
        self._fake = fake

    def command(self) -> tuple[str, ...]:
        return ("sleep", "infinity")

    def expect(self, task: Task) -> None:
        """Nothing has to be ready for it."""

    def finish(self, task: Task, exit_code: int) -> None:
        self._fake.end(task.id, exit_code)

    def kill(self, task: Task, signal: int) -> None:
        self._fake.end(task.id, 128 + signal, signal=signal)

    def says(self, task: Task, line: str) -> None:
        self._fake.prints(task.id, f"{line}\n")

    def leaves(self, task: Task, files: Mapping[str, str]) -> None:
        self._fake.outputs |= {name: content.encode() for name, content in files.items()}

    def starts(self, task: Task) -> int:
        return self._fake.starts[task.id]


class FakeOutage:
    """Implements `harness.Outage`."""

    def __init__(self, fake: FakeBackend) -> None:
        self._fake = fake

    def begin(self, backend: Backend) -> None:
        self._fake.leave()

    def end(self, backend: Backend) -> None:
        self._fake.come_back()
