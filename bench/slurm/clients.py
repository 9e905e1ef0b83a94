"""The ways in which a job reaches Slurm. Each submits one job and waits for its end as its users would."""

import itertools
import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from bench.measuring import with_compiled_modules
from bench.peers import children
from bench.peers.driver import CLOSE_S
from bench.peers.peer import PeerFailed
from bench.peers.venvs import ROOT, python_with
from bench.slurm.site import Site, job_spec

SUBMITIT = "submitit==1.5.3"
TORCHX = "torchx==0.7.0"


@dataclass(frozen=True)
class Submission:
    """Clocks around one job, in seconds, and the CPU time of its client. `ended_at` is when the client knew."""

    before: float
    ended_at: float
    cpu_s: float


class Client(Protocol):
    name: str

    def run(self, script: Path, stamp: Path) -> Submission:
        """Submit `sh script stamp` and wait for its end."""

    def close(self) -> None: ...


class Sbatch:
    name = "sbatch"

    def __init__(self, site: Site) -> None:
        self._env = site.slurm.env()
        self._log = site.log

    def run(self, script: Path, stamp: Path) -> Submission:
        mark = self._log.mark()
        options = ["--output=/dev/null", "--ntasks=1", "--cpus-per-task=1", "--mem=100M"]
        before = time.time()
        cpu_s = _cpu_of(["/usr/bin/env", "sbatch", *options, str(script), str(stamp)], self._env)
        return Submission(before, self._log.next_job(mark).ended_at, cpu_s)

    def close(self) -> None:
        """It keeps nothing open."""


class MusterApi:
    name = "muster, API"

    def __init__(self, site: Site) -> None:
        self._client = site.client
        self._numbers = itertools.count()

    def run(self, script: Path, stamp: Path) -> Submission:
        spec = job_spec(f"call-{next(self._numbers)}", "/bin/sh", str(script), str(stamp))
        cpu_before, before = time.process_time(), time.time()
        job = self._client.submit(spec)
        self._client.wait(job["id"])
        return Submission(before, time.time(), time.process_time() - cpu_before)

    def close(self) -> None:
        """The connection belongs to the site."""


class MusterCommand:
    name = "muster submit"

    def __init__(self, site: Site) -> None:
        self._site = site
        self._numbers = itertools.count()
        self._env = with_compiled_modules(site.server.environment, site.folder / "compiled")

    def run(self, script: Path, stamp: Path) -> Submission:
        name = f"command-{next(self._numbers)}"
        file = self._site.folder / f"{name}.yaml"
        file.write_text(json.dumps(job_spec(name, "/bin/sh", str(script), str(stamp))))
        before = time.time()
        cpu_s = _cpu_of(self._site.server.command("submit", str(file)), self._env)
        self._site.client.wait(name)
        return Submission(before, time.time(), cpu_s)

    def close(self) -> None:
        """It keeps nothing open."""


class Driven:
    """A Python library in a virtualenv of its own, driven from here (`bench.slurm.drivers`)."""

    def __init__(self, name: str, site: Site, requirement: str) -> None:
        self.name = name
        python = python_with(name, requirement)
        folder = site.folder / name
        folder.mkdir()
        env = {**site.slurm.env(), "PYTHONPATH": str(ROOT)}
        env["PATH"] = f"{python.parent}:{env['PATH']}"
        command = [str(python), "-m", f"bench.slurm.drivers.{name}_driver"]
        self._log = folder / "driver.log"
        self._process: subprocess.Popen[str]
        self._requests: IO[str]
        self._answers: IO[str]
        self._process, self._requests, self._answers = children.start_piped(command, self._log, env, folder)
        self._answer()

    def run(self, script: Path, stamp: Path) -> Submission:
        self._requests.write(json.dumps([str(script), str(stamp)]) + "\n")
        self._requests.flush()
        return Submission(*self._answer())

    def close(self) -> None:
        self._requests.close()
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            children.stop(self._process)

    def _answer(self) -> Sequence[float]:
        line = self._answers.readline()
        if not line:
            raise PeerFailed(f"the driver of {self.name} ended: {self._log.read_text(errors='replace')[-500:]}")
        answer: list[float] = json.loads(line)
        return answer


def _cpu_of(argv: Sequence[str], env: dict[str, str]) -> float:
    """The CPU time of a command, from its start to its end."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=quiet, stderr=quiet)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise PeerFailed(f"{' '.join(argv)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime
