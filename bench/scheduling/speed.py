"""How fast the scheduler decides in a large cluster with a long queue, and how that grows with both."""

import json
import math
import subprocess
import sys
import threading
from collections.abc import Sequence

from bench.muster.case import Case, Figures
from bench.peers.venvs import ROOT
from bench.scale import FULL, Scale
from bench.table import Bar, Row, Unit, at_least, at_most

PLAIN = "plain first fit"
TENTH = 10
PHASES = 10
GROWTH_BAR = at_most(1.1)
GROWN = (("cold fill", "fill_s"), ("one pass, nothing fits", "pass_s"), ("decision, p50", "decision_p50_ms"))
Crowd = dict[str, float]


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    nodes, jobs = scale.crowd_nodes, scale.crowd_jobs
    full = _crowd(nodes, jobs, scale)
    fewer_nodes = _crowd(nodes // TENTH, jobs, scale)
    fewer_jobs = _crowd(nodes // TENTH, jobs // TENTH, scale)
    size = f"{nodes:,} nodes, {jobs:,} jobs" + ("" if scale == FULL else "; the bars are for 10,000 and 100,000")
    return [
        *_rows(full, size),
        *_growth(f"from {nodes // TENTH:,} to {nodes:,} nodes", fewer_nodes, full),
        *_growth(f"from {jobs // TENTH:,} to {jobs:,} jobs", fewer_jobs, fewer_nodes),
    ]


def _crowd(nodes: int, jobs: int, scale: Scale) -> Crowd:
    """In a process of its own. What it has printed by the deadline, or before it failed, counts."""
    sizes = [str(nodes), str(jobs), str(scale.crowd_steps), f"--phase-s={scale.crowd_phase_s}"]
    command = [sys.executable, "-m", "bench.scheduling.rushing", *sizes]
    found: Crowd = {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        deadline = threading.Timer(scale.crowd_phase_s * PHASES, child.kill)
        deadline.start()
        try:
            for line in child.stdout or ():
                found |= json.loads(line)
        finally:
            deadline.cancel()
            child.kill()
    return found


def _rows(seen: Crowd, size: str) -> list[Row]:
    placed = "" if "placed" not in seen else f"{seen['placed']:,.0f} placed in {seen['fill_s']:.2f} s; {size}"
    flow = "" if "steps" not in seen else f"{seen['steps']:,.0f} jobs ended, {seen['flow_preemptions']:,.0f} preempted"
    waiting = "" if "passed_over" not in seen else f"{seen['passed_over']:,.0f} waiting, {seen['passes']:.0f} passes"
    unchanged = "" if "idle_us" not in seen else f"{seen['idle_us']:.1f} us a cycle"
    fill = None if "placed" not in seen else seen["placed"] / seen["fill_s"]
    return [
        Row("set up: nodes, virtual clusters", Unit.SECONDS, seen.get("set_up_s"), note=size),
        Row("set up: jobs into the queue", Unit.SECONDS, seen.get("queue_s")),
        _beside("cold fill, gangs placed", Unit.PER_SECOND, fill, "plain_fill_per_s", seen, placed, FILL_BAR),
        _beside(
            "steady state, gangs placed",
            Unit.PER_SECOND,
            seen.get("placements_per_s"),
            "plain_placements_per_s",
            seen,
            flow,
            FLOW_BAR,
        ),
        _beside("one pass, nothing fits", Unit.SECONDS, seen.get("pass_s"), "plain_pass_s", seen, waiting, PASS_BAR),
        Row("the same, no two gangs alike", Unit.SECONDS, seen.get("unlike_pass_s")),
        Row(
            "cycles computed though nothing changed",
            Unit.COUNT,
            seen.get("idle_computed"),
            bar=at_most(0),
            note=unchanged,
        ),
        Row("decision after a finished job, p50", Unit.MILLISECONDS, seen.get("decision_p50_ms"), bar=at_most(2)),
        Row("decision after a finished job, p99", Unit.MILLISECONDS, seen.get("decision_p99_ms"), bar=at_most(20)),
        Row("memory, at its peak", Unit.MEGABYTES, seen.get("peak_rss_mb"), bar=at_most(1500)),
    ]


FILL_BAR, FLOW_BAR = at_least(20_000, aim=100_000), at_least(2000, aim=10_000)
PASS_BAR = at_most(1.0, aim=0.2)


def _beside(what: str, unit: Unit, ours: float | None, theirs: str, seen: Crowd, note: str, bar: Bar) -> Row:
    return Row(what, unit, ours, PLAIN, seen.get(theirs), bar, note)


def _growth(what: str, small: Crowd, large: Crowd) -> list[Row]:
    return [
        Row(f"{name}, {what}: exponent", Unit.COUNT, exponent(small.get(figure), large.get(figure)), bar=GROWTH_BAR)
        for name, figure in GROWN
    ]


def exponent(small: float | None, large: float | None) -> float | None:
    """The slope on log paper between two sizes, one ten times the other."""
    return math.log(large / small, TENTH) if small and large else None


def _bars(figures: Figures) -> Sequence[Row]:
    return [*_rows({}, ""), *_growth("tenfold nodes", {}, {}), *_growth("tenfold jobs", {}, {})]


CASE = Case("speed", "the scheduler: 100,000 queued gangs on 10,000 nodes", run, _bars)
