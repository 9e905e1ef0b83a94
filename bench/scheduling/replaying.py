"""Runs of the simulator, several at a time where there are cores, each weighed by the CPU it took."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import fsum

from bench.scheduling.traces import jobs_of, trace_file
from muster.lib.gc_tuning import tune_garbage_collector
from muster.simulation.driver import simulate
from muster.simulation.isolated_runs import apart
from muster.simulation.metrics import Summary, summarise
from muster.simulation.options import (
    Options,
    PlacementKind,
    Policy,
    parse_durations,
    parse_nodes,
    parse_preemption_cost,
)
from muster.simulation.records import Run
from muster.simulation.traces import read_quota

SEEDS = (1, 2, 3)
COLUMNS = (
    ("mean_jct", "mean JCT"),
    ("p99_jct", "p99 JCT"),
    ("p99_queue", "p99 queue"),
    ("max_queue", "max queue"),
    ("preemptions", "preempted"),
    ("lost_gpu_h", "lost GPU h"),
    ("busy_while_waiting", "busy, waiting"),
    ("prediction_error", "predicted off"),
    ("cpu_s", "CPU s"),
    ("wall_s", "wall s"),
)
SHARES = frozenset({"busy_while_waiting", "prediction_error"})


@dataclass(frozen=True)
class Replay:
    """One run, in the words of `muster sim`."""

    trace: str
    nodes: str
    policy: str
    durations: str = "exact"
    cost: str = "0"
    placement: str = "consolidated"
    first: int | None = None
    """Only the first so many jobs."""
    quota: str | None = None
    """A file of quotas beside the traces; jobs of virtual clusters without one are left out."""
    is_apart: bool = False
    """Every virtual cluster alone in its quota."""


@dataclass(frozen=True)
class Replayed:
    replay: Replay
    summary: Summary
    """With `cpu_s`: the core that this run had to itself."""
    ends: dict[str, float]
    """When each job ended; empty unless asked for, as are `vcs`."""
    vcs: dict[str, str]
    """The virtual cluster of each job."""


def replay_all(replays: Sequence[Replay], *, with_ends: bool = False) -> list[Replayed]:
    """In the order asked for; the trace is looked for before anything starts."""
    for name in sorted({f"{each.trace}.csv.gz" for each in replays}):
        trace_file(name)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(_told(pool.map(_run_with_ends if with_ends else _run, replays), len(replays)))


def mean_of(summaries: Sequence[Summary]) -> Summary:
    """Column by column; what one of them lacks is lacking."""
    return {key: _mean([summary[key] for summary in summaries]) for key, _ in COLUMNS}


def cells(summary: Summary) -> tuple[str, ...]:
    return tuple(written(key, summary[key]) for key, _ in COLUMNS)


def written(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    if key in SHARES:
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.1f}".removesuffix(".0")


def _told(runs: Iterator[Replayed], number: int) -> Iterator[Replayed]:
    for at, done in enumerate(runs, 1):
        each = done.replay
        what = " ".join((each.trace, each.nodes, each.policy, each.durations, each.cost, "apart" * each.is_apart))
        jct, cpu_s = written("mean_jct", done.summary["mean_jct"]), done.summary["cpu_s"]
        print(f"  {at}/{number} {what}: mean JCT {jct}, {cpu_s:.1f} s", file=sys.stderr, flush=True)
        yield done


def _run(replay: Replay) -> Replayed:
    run, cpu_s = _simulated(replay)
    return Replayed(replay, summarise(run) | {"cpu_s": cpu_s}, {}, {})


def _run_with_ends(replay: Replay) -> Replayed:
    run, cpu_s = _simulated(replay)
    ends = {done.job.job_id: done.end_s for done in run.finished}
    vcs = {done.job.job_id: done.job.vc for done in run.finished}
    return Replayed(replay, summarise(run) | {"cpu_s": cpu_s}, ends, vcs)


def _simulated(replay: Replay) -> tuple[Run, float]:
    nodes = parse_nodes(replay.nodes)
    quota = None if replay.quota is None else read_quota(trace_file(replay.quota), nodes)
    jobs = [job for job in jobs_of(replay.trace, replay.first) if quota is None or job.vc in quota]
    options = Options(
        Policy(replay.policy),
        PlacementKind(replay.placement),
        parse_durations(replay.durations),
        parse_preemption_cost(replay.cost),
        quota,
    )
    tune_garbage_collector()  # as `muster sim` does
    began = time.process_time()
    run = (apart(simulate) if replay.is_apart else simulate)(jobs, nodes, options, None)
    return run, time.process_time() - began


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known and len(known) == len(values) else None
