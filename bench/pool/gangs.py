"""How long until all tasks of a gang run on several hosts, against one task on one of them.

The hosts share the cores of this machine, so beside it stands what plain shells need for as many processes.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import MusterServer
from bench.pool.hosts import CLUSTER, HostPool, pool_of, serving, share_of_host
from bench.scale import Scale
from bench.table import Row, Unit, ratio_at_most
from bench.workload import MARK_BYTES, rest

HOSTS = 8
TASKS = 64
GANGS = 5
BAR = ratio_at_most(6.0, aim=3.0)
# It starts nothing more: 64 clocks would be 64 processes. It writes a mark into a pipe that is read at once (the time
# of a file is the kernel's last tick, which may lie milliseconds back); then it waits.
TASK_SCRIPT = '#!/bin/sh\necho x > "$1/marks"\nread nothing < "$1/gate"\n'
MARKS, GATE = "marks", "gate"
RUN_WITHIN_S = 60.0
PLAIN_SCRIPT = """\
#!/bin/sh
number=$1
while [ "$number" -lt "$2" ]; do
    /bin/sh "$3" "$4" &
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
        folder = self._new_folder()
        spec = {
            "name": folder.name,
            "cluster": CLUSTER,
            "replicas": tasks,
            "command": ["/bin/sh", str(self._script), str(folder)],
            "resources": {"cpu": share_of_host(TASKS // HOSTS)},
        }
        with marks_of(folder) as marks:
            before = time.monotonic()
            job = self._client.submit(spec)
            seconds = _last_mark(marks, tasks) - before
        self._client.kill(job["id"])
        self._client.wait(job["id"])
        rest(time.time())
        return seconds

    def start_plain(self) -> float:
        """As many processes by plain shells, one for each host."""
        folder = self._new_folder()
        with marks_of(folder) as marks:
            before = time.monotonic()
            shells = [self._shell(first, first + TASKS // HOSTS, folder) for first in range(0, TASKS, TASKS // HOSTS)]
            try:
                seconds = _last_mark(marks, TASKS) - before
            finally:
                for shell in shells:
                    os.killpg(shell.pid, signal.SIGTERM)
                    shell.wait()
        rest(time.time())
        return seconds

    def _new_folder(self) -> Path:
        self._count += 1
        folder = self._folder / f"gang-{self._count}"
        folder.mkdir()
        for name in (MARKS, GATE):
            os.mkfifo(folder / name)
        return folder

    def _shell(self, first: int, end: int, folder: Path) -> subprocess.Popen[bytes]:
        command = ["/bin/sh", str(self._plain_script), str(first), str(end), str(self._script), str(folder)]
        return subprocess.Popen(command, start_new_session=True)


@contextmanager
def marks_of(folder: Path) -> Iterator[int]:
    """Open for both, so that it neither waits for a writer nor ends with one."""
    marks = os.open(folder / MARKS, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield marks
    finally:
        os.close(marks)


def _last_mark(marks: int, count: int) -> float:
    """The clock when the last of them was here."""
    read = 0
    give_up = time.monotonic() + RUN_WITHIN_S
    while read < count * MARK_BYTES:
        if not select.select([marks], [], [], give_up - time.monotonic())[0]:
            raise TimeoutError(f"{read // MARK_BYTES} of {count} tasks ran within {RUN_WITHIN_S:.0f} s")
        read += len(os.read(marks, count * MARK_BYTES - read))
    return time.monotonic()


def _rows(seen: Seen) -> Sequence[Row]:
    single, gang, plain = (
        1000 * percentile(some, 50) if some else None for some in (seen.single, seen.gangs, seen.plain)
    )
    what = f"{TASKS} tasks on {HOSTS} hosts all run"
    cores = f"{os.cpu_count()} cores are all {HOSTS} hosts: so long take {HOSTS} shells for {TASKS} processes"
    return [
        Row(what, Unit.MILLISECONDS, gang, "one remote task", single, BAR),
        Row(what, Unit.MILLISECONDS, gang, "plain processes", plain, note=cores),
    ]


CASE = Case("gang", "64 tasks over 8 hosts until all run", run, lambda figures: _rows(Seen()))
