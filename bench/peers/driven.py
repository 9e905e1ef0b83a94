"""What the peers driven through a `Driver` have in common."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.measuring import Footprint, footprint
from bench.peers.driver import Driver
from bench.peers.peer import Command, PeerFailed


class DrivenPeer:
    """A peer whose whole service is its driver process; others add to `start` and `stop`."""

    name: str
    method: str
    many = 1000

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.driver: Driver | None = None

    def start(self) -> None:
        raise NotImplementedError

    def make_folder(self) -> Path:
        self.folder = Path(tempfile.mkdtemp(prefix="muster-bench-"))
        return self.folder

    def stop(self) -> None:
        if self.driver is not None:
            self.driver.close()
            self.driver = None
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def submit_to_start(self, count: int) -> list[float]:
        return self._running().submit_to_start(count)

    def run_many(self, count: int) -> float:
        return self._running().run_many(count)

    def idle(self, window_s: float) -> Footprint:
        return footprint(self.pids(), window_s)

    def pids(self) -> Sequence[int]:
        return [self._running().process.pid]

    def commands(self) -> Sequence[Command]:
        return ()

    def _running(self) -> Driver:
        if self.driver is None:
            raise PeerFailed(f"{self.name} is not running")
        return self.driver
