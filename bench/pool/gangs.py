"""How long until all tasks of a gang run on several hosts, against one task on one of them.

The hosts share the cores of this machine, so beside it stands what plain shells need for as many processes.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import MusterServer
from bench.pool.hosts import CLUSTER, HostPool, pool_of, serving, share_of_host
from bench.scale import Scale
from bench.table import Row, Unit, ratio_at_most
from bench.workload import rest

HOSTS = 8
TASKS = 64
GANGS = 5
ALLOWED = 3.0
# It starts nothing more: 64 clocks would be 64 processes. When a file was made says when its task ran; then it waits.
TASK_SCRIPT = '#!/bin/sh\n: > "$1/$MUSTER_TASK_NAME"\nread nothing < "$1/gate"\n'
GATE = "gate"
LOOK_S = 0.005
RUN_WITHIN_S = 60.0
PLAIN_SCRIPT = """\
#!/bin/sh
number=$1
while [ "$number" -lt "$2" ]; do
    MUSTER_TASK_NAME=$number /bin/sh "$3" "$4" &
    number=$((number + 1))
done
wait
"""


@dataclass
class Seen:
    """Seconds until the last of them ran."""

    single: list[float] = field(default_factory=list)
    gangs: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    seen = Seen()
    with pool_of(HOSTS) as pool, serving(pool) as server:
        gangs = Gangs(server, pool)
        gangs.start(TASKS)
        for _ in range(GANGS):
            seen.single.append(gangs.start(1))
            seen.gangs.append(gangs.start(TASKS))
            seen.plain.append(gangs.start_plain())
    return _rows(seen)


class Gangs:
    def __init__(self, server: MusterServer, pool: HostPool) -> None:
        self._folder = server.home / "gangs"
        self._folder.mkdir()
        self._script, self._plain_script = self._folder / "gang.sh", self._folder / "plain.sh"
        self._script.write_text(TASK_SCRIPT)
        self._plain_script.write_text(PLAIN_SCRIPT)
        pool.share(self._folder)
        self._client = MusterClient(server.address)
        self._count = 0

    def start(self, tasks: int) -> float:
        stamps = self._new_folder()
        name = stamps.name
        spec = {
            "name": name,
            "cluster": CLUSTER,
            "replicas": tasks,
            "command": ["/bin/sh", str(self._script), str(stamps)],
            "resources": {"cpu": share_of_host(TASKS // HOSTS)},
        }
        before = time.time()
        job = self._client.submit(spec)
        last = _last_made(stamps, tasks)
        self._client.kill(job["id"])
        self._client.wait(job["id"])
        rest(time.time())
        return last - before

    def start_plain(self) -> float:
        """As many processes by plain shells, one for each host."""
        stamps = self._new_folder()
        before = time.time()
        shells = [self._shell(first, first + TASKS // HOSTS, stamps) for first in range(0, TASKS, TASKS // HOSTS)]
        try:
            last = _last_made(stamps, TASKS)
        finally:
            for shell in shells:
                os.killpg(shell.pid, signal.SIGTERM)
                shell.wait()
        rest(time.time())
        return last - before

    def _new_folder(self) -> Path:
        self._count += 1
        folder = self._folder / f"gang-{self._count}"
        folder.mkdir()
        os.mkfifo(folder / GATE)
        return folder

    def _shell(self, first: int, end: int, stamps: Path) -> subprocess.Popen[bytes]:
        command = ["/bin/sh", str(self._plain_script), str(first), str(end), str(self._script), str(stamps)]
        return subprocess.Popen(command, start_new_session=True)


def _last_made(folder: Path, count: int) -> float:
    give_up = time.monotonic() + RUN_WITHIN_S
    while time.monotonic() < give_up:
        with os.scandir(folder) as entries:
            made = [entry.stat().st_mtime for entry in entries if entry.name != GATE]
        if len(made) == count:
            return max(made)
        time.sleep(LOOK_S)
    raise TimeoutError(f"{len(made)} of {count} tasks ran within {RUN_WITHIN_S:.0f} s")


def _rows(seen: Seen) -> Sequence[Row]:
    single, gang, plain = (
        1000 * percentile(some, 50) if some else None for some in (seen.single, seen.gangs, seen.plain)
    )
    what = f"{TASKS} tasks on {HOSTS} hosts all run"
    cores = f"{os.cpu_count()} cores are all {HOSTS} hosts: so long take {HOSTS} shells for {TASKS} processes"
    return [
        Row(what, Unit.MILLISECONDS, gang, "one remote task", single, ratio_at_most(ALLOWED)),
        Row(what, Unit.MILLISECONDS, gang, "plain processes", plain, note=cores),
    ]


CASE = Case("gang", "64 tasks over 8 hosts until all run", run, lambda figures: _rows(Seen()))
