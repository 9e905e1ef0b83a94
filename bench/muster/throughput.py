"""Jobs per second, submitted one by one over one connection and run to their end, each a durable job with history."""

import time
from collections.abc import Sequence

from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient, Refused, job_spec
from bench.muster.server import MusterServer
from bench.peers.figures import Measure
from bench.scale import Scale
from bench.table import Bar, Row, Unit, at_most, ratio_at_least
from bench.workload import Workload, check_marks, wait_for_marks

BARS = {"hyperqueue": ratio_at_least(0.6), "slurm": ratio_at_least(5)}
CPU_BAR = at_most(5.0)
COUNTED = "of the daemons and the children they waited for; HyperQueue's and TorchX's hold their client too"
OPEN = ("Queued", "Starting", "Running", "Stopping")
OTHERS: dict[str, Bar | None] = {"torchx-runner": None, "torchx-cli": None, "ray": None}


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        client = MusterClient(server.address)
        run_one_by_one(client, Workload.create(server.home / "bench"), "warm", 10)
        before = server.cpu()
        rate = run_one_by_one(client, Workload.create(server.home / "bench"), "many", scale.jobs)
        spent = server.cpu() - before
    return rows(figures, rate, 1000 * spent.total_s / scale.jobs)


def run_one_by_one(client: MusterClient, workload: Workload, prefix: str, count: int) -> float:
    """Jobs per second until the last one has done its work; then each must really have succeeded."""
    marks = workload.marks_file(prefix)
    specs = [job_spec(f"{prefix}-{index}", workload.mark_script, str(marks)) for index in range(count)]
    began = time.monotonic()
    jobs = [client.submit(spec)["id"] for spec in specs]
    seconds = wait_for_marks(marks, count) - began
    client.wait(jobs[-1])
    _check_all_succeeded(client)
    check_marks(marks, count)
    return count / seconds


def _check_all_succeeded(client: MusterClient) -> None:
    """No job may be in another state, once those that were last have been given a moment to settle."""
    for state in OPEN:
        while found := client.page(f"limit=1&state={state}")["items"]:
            client.wait(found[0]["id"])
    for state in ("Failed", "Cancelled"):
        if found := client.page(f"limit=1&state={state}")["items"]:
            raise Refused(f"job {found[0]['name']} ended as {state}")


def rows(figures: Figures, rate: float | None, cpu_ms: float | None) -> Sequence[Row]:
    chosen = [(figures[name], bar) for name, bar in {**BARS, **OTHERS}.items() if name in figures]
    rates = [
        Row(
            what="jobs per second, one by one",
            unit=Unit.PER_SECOND,
            muster=rate,
            peer=peer.name,
            theirs=peer.jobs_per_s,
            bar=bar,
            note=peer.absent or f"peer: {peer.jobs} jobs; {'; '.join(peer.problems) or peer.method}",
        )
        for peer, bar in chosen
    ]
    costs = [
        Row("CPU per job", Unit.MILLISECONDS, cpu_ms, peer.name, peer.cpu_ms_per_job, CPU_BAR, COUNTED)
        for peer, _ in chosen
        if peer.cpu_ms_per_job
    ]
    alone = [
        Row("jobs per second, one by one", Unit.PER_SECOND, rate),
        Row("CPU per job", Unit.MILLISECONDS, cpu_ms, bar=CPU_BAR, note=COUNTED),
    ]
    return [*rates, *costs] or alone


CASE = Case(
    name="throughput",
    summary="1,000 no-op jobs one by one, run to their end",
    run=run,
    bars=lambda figures: rows(figures, None, None),
    peers={name: frozenset({Measure.MANY}) for name in (*BARS, *OTHERS)},
)
