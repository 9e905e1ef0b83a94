"""Debian's Slurm, tuned to start at once, with its own configuration, state and munge socket in one folder.

Nothing of a Slurm or munge that the machine already runs is touched: ports, key and socket are our own, and the
daemons stay in the foreground as our children.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measuring import Footprint, footprint
from bench.peers import children
from bench.peers.peer import Command, PeerAbsent, PeerFailed
from bench.peers.ports import free_port
from bench.peers.slurm_conf import SlurmConf
from bench.workload import Workload, check_marks, rest, wait_for_marks, wait_for_stamp

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
UP_DEADLINE_S = 30.0
LOOK_S = 0.1


class Slurm:
    name = "Slurm"
    method = "tuned, one `sbatch` per job, no accounting database"
    many = 200
    nodes = 1

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        install()
        self._folder = Path(tempfile.mkdtemp(prefix="muster-bench-"))
        # munged refuses a socket that others could not reach, and a key that others could read.
        self._folder.chmod(0o755)
        self._start_munge(self._folder)
        conf = SlurmConf(
            folder=self._folder,
            host=socket.gethostname().split(".")[0],
            cpus=os.cpu_count() or 1,
            controller_port=free_port(),
            node_ports=[free_port() for _ in range(self.nodes)],
        )
        conf.write()
        self._env = {**os.environ, "SLURM_CONF": str(conf.path)}
        idle = "\n".join(["idle"] * self.nodes)
        self._start_daemon("slurmctld", "-D", "-f", str(conf.path))
        for node in conf.nodes:
            self._start_daemon("slurmd", "-D", "-N", node, "-f", str(conf.path))
        self._wait_until("its nodes are idle", lambda: self._ask("sinfo", "-h", "-N", "-o", "%T") == idle)

    def stop(self) -> None:
        while self._daemons:
            children.stop(self._daemons.pop())
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def version(self) -> str:
        return self._ask("sinfo", "--version").removeprefix("slurm-wlm ")

    def submit_to_start(self, count: int) -> list[float]:
        workload = Workload.create(self._running() / "latency")
        seconds = []
        for index in range(count):
            out = workload.stamp_file(index)
            before = time.time()
            self._submit(workload.stamp_script, out)
            started = wait_for_stamp(out)
            seconds.append(started - before)
            self._wait_until_empty()
            rest(started)
        return seconds

    def run_many(self, count: int) -> float:
        workload = Workload.create(self._running() / "many")
        marks = workload.marks_file("many")
        began = time.monotonic()
        for _ in range(count):
            self._submit(workload.mark_script, marks)
        seconds = wait_for_marks(marks, count) - began
        self._wait_until_empty()
        check_marks(marks, count)
        return count / seconds

    def idle(self, window_s: float) -> Footprint:
        return footprint(self.pids(), window_s)

    def pids(self) -> Sequence[int]:
        return [daemon.pid for daemon in self._daemons]

    def commands(self) -> Sequence[Command]:
        return (Command("squeue", (find("squeue"),), self._env),)

    def _start_munge(self, folder: Path) -> None:
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("key", "log", "pid", "seed")]
        self._start_daemon("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files)
        self._wait_until("munged listens", (folder / "munge.socket").exists)

    def _start_daemon(self, program: str, *arguments: str) -> None:
        log = self._running() / f"{program}.out"
        self._daemons.append(children.start([find(program), *arguments], log))

    def _submit(self, script: Path, argument: Path) -> None:
        self._ask("sbatch", "--output=/dev/null", str(script), str(argument))

    def _ask(self, program: str, *arguments: str) -> str:
        done = subprocess.run([find(program), *arguments], env=self._env, capture_output=True, text=True, check=False)
        if done.returncode != 0 and program in ("sbatch", "srun"):
            raise PeerFailed(f"{program}: {done.stderr.strip()}")
        return done.stdout.strip()

    def _wait_until_empty(self) -> None:
        self._wait_until("its queue is empty", lambda: not self._ask("squeue", "-h"))

    def _wait_until(self, what: str, holds: Callable[[], bool]) -> None:
        give_up = time.monotonic() + UP_DEADLINE_S
        while not holds():
            ended = [daemon for daemon in self._daemons if daemon.poll() is not None]
            if ended or time.monotonic() > give_up:
                raise PeerFailed(f"waited in vain until {what}; {self._complaint(ended)}")
            time.sleep(LOOK_S)

    def _complaint(self, ended: Sequence[subprocess.Popen[bytes]]) -> str:
        logs = self._running().glob("*.out")
        said = " | ".join(log.read_text(errors="replace").strip()[-200:] for log in logs)
        return f"{len(ended)} of its daemons ended: {said}"

    def _running(self) -> Path:
        if self._folder is None:
            raise PeerFailed("Slurm is not running")
        return self._folder


class SlurmNodes(Slurm):
    """As many nodes as the hosts that Muster is given, and `srun`, which is sooner there than `sbatch`."""

    method = "tuned, 8 nodes, one `srun` per job, no accounting database"
    nodes = 8

    def _submit(self, script: Path, argument: Path) -> None:
        self._ask("srun", "--nodes=1", "--ntasks=1", str(script), str(argument))


def find(program: str) -> str:
    path = shutil.which(program, path=SEARCH)
    if path is None:
        raise PeerAbsent(f"{program} is not installed")
    return path


def install() -> None:
    """Install the distribution's packages when they are missing and we may."""
    if all(shutil.which(program, path=SEARCH) for program in PROGRAMS):
        if os.geteuid() != 0:
            raise PeerAbsent("its daemons need root to run jobs")
        return
    if os.geteuid() != 0:
        raise PeerAbsent(f"not installed, and only root may: apt-get install {' '.join(PACKAGES)}")
    if shutil.which("apt-get") is None:
        raise PeerAbsent("not installed, and there is no apt-get here to install it with")
    print(f"installing {' '.join(PACKAGES)} ...", flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", *PACKAGES]):
        done = subprocess.run(arguments, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerAbsent(f"apt-get failed: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
