"""The toy engine: a process of its own that takes gangs from a directory and places them by itself."""

from dataclasses import replace
from pathlib import Path

from muster.domain.clusters import PhysicalCluster
from muster.domain.launch_requests import GangLaunch
from muster.ports.backend import Backend
from tests.contract.backends.harness import FolderArchives
from tests.contract.backends.programs import Programs
from tests.parts.directory_queue.backend import DirectoryQueueBackend
from tests.parts.directory_queue.layout import Layout, write
from tests.parts.directory_queue.site import end_engine, start_engine

_NODES = {"c1": 2, "c2": 2}


class QueueHarness:
    node = ""
    folder = ""

    def __init__(self, folder: Path) -> None:
        self.archives = FolderArchives(folder)
        self.tasks = Programs(folder / "programs")
        self._layout = Layout(folder / "queue").make()
        self.outage = QueueOutage(self._layout)
        self.queue = Crowd(self._layout)
        write(self._layout.nodes, _NODES)
        self._engine = start_engine(self._layout.root)

    def backend(self) -> Backend:
        return DirectoryQueueBackend(PhysicalCluster("batch", "directory"), self.archives, self._layout.root)

    def refused(self, launch: GangLaunch) -> GangLaunch:
        requests = (replace(one, env={"no-such-partition": "1"}) for one in launch.requests)
        return replace(launch, requests=tuple(requests))

    def measure(self) -> None:
        raise NotImplementedError("a directory queue measures nothing")

    def close(self) -> None:
        end_engine(self._engine, self._layout)
        self.tasks.close()


class QueueOutage:
    """Implements `harness.Outage`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def begin(self, backend: Backend) -> None:
        self._layout.down.touch()

    def end(self, backend: Backend) -> None:
        self._layout.down.unlink()


class Crowd:
    """Implements `harness.QueueControl`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def fill(self) -> None:
        write(self._layout.others, _NODES)

    def free(self) -> None:
        write(self._layout.others, {})
