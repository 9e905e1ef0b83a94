"""Whether a job costs the same when ten times as many were run before it."""

from collections.abc import Sequence

from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import MusterServer
from bench.muster.throughput import run_one_by_one
from bench.scale import Scale
from bench.table import Row, Unit, at_least
from bench.workload import Workload

# Flat within what two runs on a shared machine differ by anyway.
BAR = Row("rate of the last jobs over the first", Unit.TIMES, bar=at_least(0.8))


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    step = scale.stored // 10
    with MusterServer() as server:
        client = MusterClient(server.address)
        workload = Workload.create(server.home / "bench")
        run_one_by_one(client, workload, "warm", 10)
        rates = [run_one_by_one(client, workload, f"step-{index}", step) for index in range(10)]
    note = f"jobs/s by {step:,}: " + " ".join(f"{rate:.0f}" for rate in rates)
    return [Row(BAR.what, BAR.unit, rates[-1] / rates[0], bar=BAR.bar, note=note)]


CASE = Case("scaling", "cost per job from 1,000 to 10,000 jobs", run, lambda figures: [BAR])
