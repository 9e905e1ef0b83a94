"""How long from a submission until the job's own clock, the machine idle and the client connected."""

import time
from collections.abc import Sequence

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient, job_spec
from bench.muster.server import MusterServer
from bench.peers.figures import Measure, PeerFigures
from bench.scale import Scale
from bench.table import Bar, Row, Unit, ratio_at_most
from bench.workload import Workload, rest, wait_for_stamp

PERCENTS = (50.0, 90.0)
BARS = {
    "hyperqueue": {50.0: ratio_at_most(1.3), 90.0: ratio_at_most(1.5)},
    "slurm": {percent: ratio_at_most(1 / 20) for percent in PERCENTS},
}
OTHERS = ("torchx-runner", "torchx-cli", "ray")


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        client = MusterClient(server.address)
        workload = Workload.create(server.home / "bench")
        start_one(client, workload, "warm", 0)
        seconds = [start_one(client, workload, f"start-{index}", index) for index in range(1, scale.starts + 1)]
    return rows(figures, seconds)


def start_one(client: MusterClient, workload: Workload, name: str, index: int) -> float:
    out = workload.stamp_file(index)
    spec = job_spec(name, workload.stamp_script, str(out))
    before = time.time()
    job = client.submit(spec)
    started = wait_for_stamp(out)
    client.wait(job["id"])
    rest(started)
    return started - before


def rows(figures: Figures, seconds: Sequence[float]) -> Sequence[Row]:
    ours = {percent: 1000 * percentile(seconds, percent) if seconds else None for percent in PERCENTS}
    compared = [
        _compared(figures[name], percent, ours[percent], BARS.get(name, {}).get(percent))
        for name in (*BARS, *OTHERS)
        if name in figures
        for percent in PERCENTS
    ]
    return compared or [Row(_what(percent), Unit.MILLISECONDS, ours[percent]) for percent in PERCENTS]


def _compared(peer: PeerFigures, percent: float, ours: float | None, bar: Bar | None) -> Row:
    theirs = peer.start_percentile(percent)
    theirs_ms = None if theirs is None else 1000 * theirs
    note = peer.absent or peer.method
    return Row(_what(percent), Unit.MILLISECONDS, ours, peer.name, theirs_ms, bar, note)


def _what(percent: float) -> str:
    return f"submit to start, p{percent:.0f}"


CASE = Case(
    name="starting",
    summary="submit to start of one no-op job",
    run=run,
    bars=lambda figures: rows(figures, ()),
    peers={name: frozenset({Measure.START}) for name in (*BARS, *OTHERS)},
)
