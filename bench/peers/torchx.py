"""TorchX with `local_cwd`: a launcher without a server, a queue or history.

Two rows, because they differ by 50 times: its Python runner, which only forks, and `torchx run`, which is what
people type and which has no connection to keep open.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measuring import Footprint
from bench.peers.driven import DrivenPeer
from bench.peers.driver import Driver
from bench.peers.peer import Command, PeerFailed
from bench.peers.venvs import installed_version, python_with
from bench.workload import Workload, check_marks, rest, wait_for_stamp

# Its requirements leave out docker's own need for an urllib3 of the 1.x series, which pip resolves by itself.
REQUIREMENT = "torchx==0.7.0"


class TorchXRunner(DrivenPeer):
    name = "TorchX runner"
    method = "Python runner, local_cwd; jobs are children of the client"
    many = 200

    def start(self) -> None:
        python = python_with("torchx", REQUIREMENT)
        self.driver = Driver(python, "torchx_driver", self.make_folder())

    def version(self) -> str:
        return installed_version(python_with("torchx", REQUIREMENT), "torchx")


class TorchXCommand(DrivenPeer):
    name = "TorchX CLI"
    method = "`torchx run -s local_cwd`, one command per job"
    many = 20

    def start(self) -> None:
        self._program = python_with("torchx", REQUIREMENT).parent / "torchx"
        self.make_folder()

    def version(self) -> str:
        return installed_version(python_with("torchx", REQUIREMENT), "torchx")

    def submit_to_start(self, count: int) -> list[float]:
        workload = Workload.create(self._folder() / "latency")
        seconds = []
        for index in range(count):
            out = workload.stamp_file(index)
            before = time.time()
            self._run(workload.stamp_script, out)
            started = wait_for_stamp(out)
            seconds.append(started - before)
            rest(started)
        return seconds

    def run_many(self, count: int) -> float:
        workload = Workload.create(self._folder() / "many")
        marks = workload.marks_file("many")
        began = time.monotonic()
        for _ in range(count):
            self._run(workload.mark_script, marks)
        seconds = time.monotonic() - began
        check_marks(marks, count)
        return count / seconds

    def idle(self, window_s: float) -> Footprint:
        return Footprint(0, 0.0, 0)

    def pids(self) -> Sequence[int]:
        return ()

    def commands(self) -> Sequence[Command]:
        return (Command("torchx --help", (str(self._program), "--help"), dict(os.environ)),)

    def _run(self, script: Path, argument: Path) -> None:
        done = subprocess.run(
            [str(self._program), "run", "-s", "local_cwd", "utils.sh", "/bin/sh", str(script), str(argument)],
            cwd=self._folder(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise PeerFailed(f"torchx run ended with {done.returncode}: {done.stderr.strip()[-200:]}")

    def _folder(self) -> Path:
        if self.folder is None:
            raise PeerFailed("TorchX was not started")
        return self.folder
