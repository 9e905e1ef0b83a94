"""Talks to a driver program (`bench.peers.drivers`) that runs in a peer's own virtualenv."""

import itertools
import json
import subprocess
from pathlib import Path
from typing import IO, Any

from bench.peers import children
from bench.peers.peer import PeerFailed
from bench.peers.venvs import ROOT

CLOSE_S = 20.0


class Driver:
    """One running driver. It ends itself, and what it embeds, when its input closes."""

    def __init__(self, python: Path, module: str, folder: Path, *arguments: str) -> None:
        self._folder = folder
        self._runs = itertools.count()
        self.log = folder / "driver.log"
        self.process: subprocess.Popen[str]
        self._requests: IO[str]
        self._answers: IO[str]
        self.process, self._requests, self._answers = children.start_piped(
            [str(python), "-m", f"bench.peers.drivers.{module}", *arguments],
            self.log,
            {"PYTHONPATH": str(ROOT)},
            folder,
        )
        self._answer()

    def submit_to_start(self, count: int) -> list[float]:
        return [float(seconds) for seconds in self._ask("submit_to_start", count)]

    def run_many(self, count: int) -> float:
        return count / float(self._ask("run_many", count))

    def run_together(self, count: int) -> float:
        """Tasks per second of one job with so many."""
        return count / float(self._ask("run_together", count))

    def close(self) -> None:
        self._requests.close()
        try:
            self.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            children.stop(self.process)

    def _ask(self, action: str, count: int) -> Any:
        workload = self._folder / f"run-{next(self._runs)}"
        self._requests.write(json.dumps({"do": action, "folder": str(workload), "count": count}) + "\n")
        self._requests.flush()
        return self._answer()

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line:
            raise PeerFailed(f"its driver ended; the last line of its log: {_last_line(self.log)}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerFailed(answer["error"])
        return answer["result"]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "empty")
