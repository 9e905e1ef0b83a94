"""What Muster costs on Slurm beside plain `sbatch`, submitit and TorchX, with its bars."""

import os
from collections.abc import Callable, Iterator, Sequence

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.slurm.clients import MusterApi, MusterCommand, Sbatch
from bench.slurm.queued import Queued, Window, measure_queued, watch
from bench.slurm.rounds import Seen, median_ms, run_rounds
from bench.slurm.site import POLL_S, running_site
from bench.table import Row, Sheet, Unit, at_most

_API = ("Slurm: API call until Slurm has the job, more than `sbatch`", Unit.MILLISECONDS, at_most(50))
_COMMAND = ("Slurm: `muster submit` until Slurm has the job, more than `sbatch`", Unit.MILLISECONDS, at_most(50))
_END = ("Slurm: end shown after slurmctld has logged it", Unit.MILLISECONDS, at_most(200))
_QUERIES = ("Slurm: {} queued jobs, queries about jobs per poll interval", Unit.COUNT, at_most(1))
_CPU = ("Slurm: {} queued jobs, CPU of server and login agent", Unit.PERCENT, at_most(2))
_PEERS = (Sbatch.name, "submitit", "torchx")


def measure_slurm(scale: Scale) -> list[Row | Sheet]:
    with running_site() as site:
        seen = run_rounds(site, scale.starts)
        idle = watch(site, scale.idle_s)
        queued = measure_queued(site, scale.queued, scale.settle_s, scale.fleet_s)
    return [*_submitting(seen), *_compared(seen), *_queue(queued, idle), _clients_sheet(seen), _calls_sheet(seen)]


def _submitting(seen: dict[str, Seen]) -> Iterator[Row]:
    plain = median_ms(seen[Sbatch.name].to_slurm_s)
    for (what, unit, bar), name in ((_API, MusterApi.name), (_COMMAND, MusterCommand.name)):
        own = median_ms(seen[name].to_slurm_s)
        more = None if own is None or plain is None else own - plain
        note = f"{own or 0:.0f} ms, sbatch {plain or 0:.0f} ms; {len(seen[name].to_slurm_s)} jobs; {_load()}"
        yield Row(what, unit, more, bar=bar, note=note)
    ends = seen[MusterApi.name].end_seen_s
    note = f"p90 {median_ms(ends, 90) or 0:.0f} ms; negative: shown before"
    yield Row(_END[0], _END[1], median_ms(ends), bar=_END[2], note=note)


def _compared(seen: dict[str, Seen]) -> Iterator[Row]:
    figures: Sequence[tuple[str, Unit, Callable[[Seen], float | None]]] = (
        ("submit to start, p50", Unit.MILLISECONDS, lambda one: median_ms(one.to_start_s)),
        ("submit to start, p90", Unit.MILLISECONDS, lambda one: median_ms(one.to_start_s, 90)),
        ("allocation to start", Unit.MILLISECONDS, lambda one: median_ms(one.allocated_to_start_s)),
        ("CPU of the client per job", Unit.MILLISECONDS, lambda one: median_ms(one.cpu_s)),
        ("RPCs to slurmctld per job", Unit.COUNT, lambda one: one.calls_per_job),
    )
    for what, unit, figure in figures:
        for peer in _PEERS:
            theirs = seen[peer]
            yield Row(f"Slurm: {what}", unit, figure(seen[MusterApi.name]), peer, figure(theirs), note=theirs.absent)


def _queue(found: Queued, idle: Window) -> Iterator[Row]:
    waiting = found.waiting
    note = f"of any kind: {waiting.calls_per_interval:.2f} RPCs; over {waiting.seconds:.0f} s; {_load()}"
    named = [(what.format(f"{found.jobs:,}"), unit, bar) for what, unit, bar in (_QUERIES, _CPU)]
    yield Row(named[0][0], named[0][1], waiting.job_queries_per_interval, bar=named[0][2], note=note)
    yield Row(named[1][0], named[1][1], waiting.cpu_percent, bar=named[1][2], note="of a core, with squeue and sinfo")
    between_s = waiting.seconds / waiting.job_queries if waiting.job_queries else None
    slower = f"the slower squeue answers, the longer; {POLL_S:g} s in the cluster file"
    yield Row(f"Slurm: {found.jobs:,} queued jobs, time between two queries", Unit.SECONDS, between_s, note=slower)
    yield Row(f"Slurm: {found.jobs:,} jobs handed over, one by one", Unit.PER_SECOND, found.jobs / found.hand_over_s)
    yield Row("Slurm: RPCs per poll interval without a job", Unit.COUNT, idle.calls_per_interval)


def _clients_sheet(seen: dict[str, Seen]) -> Sheet:
    head = [
        "",
        "until Slurm has it",
        "submit to start",
        "allocation to start",
        "end known",
        "client CPU",
        "RPCs per job",
    ]
    lines = []
    for name, one in seen.items():
        columns = (one.to_slurm_s, one.to_start_s, one.allocated_to_start_s, one.end_seen_s, one.cpu_s)
        times = [f"{value:.0f} ms" if (value := median_ms(column)) is not None else "-" for column in columns]
        lines.append([name, *times, f"{one.calls_per_job:.1f}" if one.calls_per_job is not None else "-"])
    return Sheet("Slurm: medians of each client, which took turns", [head, *lines])


def _calls_sheet(seen: dict[str, Seen]) -> Sheet:
    kinds = sorted({kind for one in seen.values() for kind in one.calls})
    lines = [
        [kind, *(f"{one.calls.get(kind, 0) / max(1, len(one.cpu_s)):.2f}" for one in seen.values())] for kind in kinds
    ]
    return Sheet("Slurm: RPCs to slurmctld per job", [["", *seen], *lines])


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def _run(scale: Scale, figures: Figures) -> Sequence[Row | Sheet]:
    return measure_slurm(scale)


def _bars(figures: Figures) -> Sequence[Row]:
    return [Row(what.format("1,000"), unit, bar=bar) for what, unit, bar in (_API, _COMMAND, _END, _QUERIES, _CPU)]


CASE = Case("slurm-cluster", "what Muster adds to sbatch, beside submitit and TorchX", _run, _bars)
