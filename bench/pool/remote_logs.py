"""One person follows a job of 50 loud tasks on other machines: no line may be lost or come twice.

The follower is the client's own `job.logs(follow=True)`, in this process.
"""

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.measuring import Footprint, compare
from bench.muster.case import Case, Figures
from bench.muster.server import MusterServer
from bench.pool.hosts import CLUSTER, pool_of, serving, share_of_host
from bench.scale import Scale
from bench.table import Row, Unit, at_most
from muster.client.client import Client

HOSTS = 8
TASKS = 50
LINES_PER_S = 1000
# Lines are numbered and bear the clock of their batch. All wait for one file, so that all are loud at once.
PRINTER = """\
import os, sys, time
rate, seconds, go = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
while not os.path.exists(go):
    time.sleep(0.1)
began, total, done = time.monotonic(), int(rate * seconds), 0
while done < total:
    upto = min(total, int((time.monotonic() - began) * rate))
    now = "%.3f" % time.time()
    os.write(1, "".join(["%d %s\\n" % (n, now) for n in range(done, upto)]).encode())
    done = upto
    time.sleep(0.01)
"""
WRONG = Row("lines lost or doubled, 50 tasks on 8 hosts followed", Unit.COUNT, bar=at_most(0))


@dataclass
class Heard:
    """What came of all tasks. Lines of one task come in order, so the next number is known."""

    next_line: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    rest: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    lost: int = 0
    doubled: int = 0
    worst_lag_s: float = 0.0
    last_lag_s: float = 0.0

    def take(self, task: str, text: str) -> None:
        *lines, self.rest[task] = (self.rest[task] + text).split("\n")
        for line in lines:
            number = int(line.split(" ", 1)[0])
            expected = self.next_line[task]
            self.lost += max(0, number - expected)
            self.doubled += number < expected
            self.next_line[task] = max(expected, number + 1)
        if lines:
            self.last_lag_s = time.time() - float(lines[-1].split(" ")[1])
            self.worst_lag_s = max(self.worst_lag_s, self.last_lag_s)


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    seconds = scale.loud_s
    with pool_of(HOSTS) as pool, serving(pool) as server:
        folder = server.home / "bench"
        folder.mkdir()
        pool.share(folder)
        script, go = folder / "printer.py", folder / "go"
        script.write_text(PRINTER)
        command = ["/usr/bin/env", "python3", str(script), str(LINES_PER_S), str(seconds), str(go)]
        client = Client(f"http://{server.address.host}:{server.address.port}", server.address.token)
        resources = {"cpu": share_of_host(math.ceil(TASKS / HOSTS))}
        spec = {"name": "loud", "cluster": CLUSTER, "replicas": TASKS, "command": command, "resources": resources}
        job = client.submit(spec)
        while job.refresh().state != "Running":
            if job.view.ended:
                raise RuntimeError(f"the loud job is {job.state}: {job.explain().summary}")
            time.sleep(0.1)
        heard, spent = Heard(), Spent(server)
        go.touch()
        for chunk in job.logs(follow=True):
            heard.take(chunk.task, chunk.text)
        cost, wall_s = spent.until_now()
        state = job.refresh().state
    missing = TASKS * int(LINES_PER_S * seconds) - sum(heard.next_line.values())
    note = f"{heard.lost + missing} lost, {heard.doubled} doubled of {TASKS * LINES_PER_S * seconds:,.0f}; job {state}"
    return [
        Row(WRONG.what, WRONG.unit, heard.lost + missing + heard.doubled, bar=WRONG.bar, note=note),
        Row("lines followed per second", Unit.PER_SECOND, sum(heard.next_line.values()) / wall_s),
        Row("last line heard after it was written", Unit.SECONDS, heard.last_lag_s),
        Row("any line heard after it was written, worst", Unit.SECONDS, heard.worst_lag_s),
        Row("CPU of the server, one follower", Unit.PERCENT, cost.cpu_percent, note=f"over {wall_s:.0f} s"),
    ]


class Spent:
    def __init__(self, server: MusterServer) -> None:
        self._server = server
        self._before, _ = server.processes()
        self._began = time.monotonic()

    def until_now(self) -> tuple[Footprint, float]:
        after, _ = self._server.processes()
        passed = time.monotonic() - self._began
        return compare(self._before, after, passed), passed


CASE = Case("remote-logs", "50 tasks on 8 hosts of 1,000 lines/s each, followed", run, lambda figures: [WRONG])
