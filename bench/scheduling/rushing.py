"""Drives a cluster state through a crowd, phase by phase: `python -m bench.scheduling.rushing NODES JOBS STEPS`.

A process of its own, so that its memory is the scheduler's. Each phase prints its figures as one line of JSON as soon
as it is done; whoever reads them keeps what came before a deadline. With `--profile` a phase's most expensive functions
go to stderr.
"""

import argparse
import cProfile
import json
import os
import pstats
import random
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from statistics import median
from time import process_time

from bench.measuring import percentile, sample_process
from bench.scheduling import crowd
from bench.scheduling.first_fit import FirstFit
from muster.lib.gc_tuning import tune_garbage_collector
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand
from muster.scheduling.plan import Plan

STEP_S = 0.05
"""Virtual time between two finished jobs."""
PASSES = 5
IDLE_CYCLES = 1000
PROFILED = 20
TENTH = 10
Figures = dict[str, float]


class Rush:
    """The jobs that run, those that wait, and a clock."""

    def __init__(self, nodes: int, jobs: int, phase_s: float, seed: int = 1) -> None:
        self.nodes, self.jobs, self.phase_s = nodes, jobs, phase_s
        self.state = ClusterState(crowd.CLUSTER)
        self.now = crowd.QUEUED_OVER_S
        self.started = self.preempted = 0
        self._source = random.Random(seed)
        self._coming = crowd.demands(seed, self.now)
        self._demands: dict[str, JobDemand] = {}
        self._running: list[str] = []
        self._at: dict[str, int] = {}

    def set_up(self) -> Figures:
        began = process_time()
        for node in crowd.nodes(self.nodes):
            self.state.node_changed(node)
        self.state.configured(crowd.virtual_clusters(self.nodes))
        self.state.cycle(self.now)
        tune_garbage_collector()  # as the server does before it serves
        return {"set_up_s": process_time() - began}

    def queue(self) -> Figures:
        demands = list(islice(self._coming, self.jobs))
        began = process_time()
        for demand in demands:
            self._demands[demand.job_id] = demand
            self.state.queued(demand)
        return {"queue_s": process_time() - began}

    def fill(self) -> Figures:
        """An empty cluster, and everybody waits."""
        began = process_time()
        self._settle()
        return {
            "fill_s": process_time() - began,
            "placed": self.started,
            "running": len(self._running),
            "fill_preemptions": self.preempted,
            "gpus_busy": self._busy_gpus() / (self.nodes * crowd.GPUS_PER_NODE),
        }

    def top_up(self) -> Figures:
        """Until as many wait as should."""
        self._queue_up_to(self.jobs)
        self._settle()
        self._queue_up_to(self.jobs)
        return {"waiting": self.state.waiting}

    def flow(self, steps: int) -> Figures:
        """One ends, whoever is next starts, another comes: again and again."""
        before, preempted, done = self.started, self.preempted, 0
        decisions: list[float] = []
        began = process_time()
        while done < steps and process_time() - began < self.phase_s:
            self.now += STEP_S
            ended = self._ends()
            decided = process_time()
            self.state.released(ended.job_id)
            plan = self.state.cycle(self.now)
            decisions.append(process_time() - decided)
            self.state.learnt(ended, self._source.uniform(60, 6000))
            self._apply(plan)
            self._queue_up_to(self.jobs)
            done += 1
        spent = process_time() - began
        return {
            "steps": done,
            "placements_per_s": (self.started - before) / spent,
            "step_ms": 1000 * spent / done,
            "flow_preemptions": self.preempted - preempted,
            "decision_p50_ms": 1000 * percentile(decisions, 50),
            "decision_p99_ms": 1000 * percentile(decisions, 99),
            "decision_max_ms": 1000 * max(decisions),
        }

    def look(self) -> Figures:
        """Nothing fits, nothing is remembered: what is tried again is everything."""
        seconds = self._passes()
        return {"pass_s": median(seconds), "passed_over": self.state.waiting, "passes": len(seconds)}

    def look_at_unlike(self) -> Figures:
        """The same with a queue in which no two gangs are alike, so that no answer serves two of them."""
        for job_id in list(self.state.queue.lanes.jobs):
            self.state.unqueued(job_id)
            del self._demands[job_id]
        self._coming = crowd.unlike(self._coming)
        self._queue_up_to(self.jobs)
        seconds = self._passes()
        return {"unlike_pass_s": median(seconds), "unlike_passed_over": self.state.waiting}

    def _passes(self) -> list[float]:
        self._settle()
        seconds: list[float] = []
        while len(seconds) < PASSES and (not seconds or sum(seconds) < self.phase_s):
            self._forget()
            began = process_time()
            plan = self.state.cycle(self.now)
            seconds.append(process_time() - began)
            if plan.starts or plan.preemptions:
                raise RuntimeError(f"{len(plan.starts)} jobs started in a pass in which nothing should fit")
        return seconds

    def idle(self) -> Figures:
        computed = self.state.cycles
        began = process_time()
        for _ in range(IDLE_CYCLES):
            self.state.cycle(self.now)
        return {
            "idle_us": 1_000_000 * (process_time() - began) / IDLE_CYCLES,
            "idle_computed": self.state.cycles - computed,
        }

    def weigh(self) -> Figures:
        now = sample_process(os.getpid())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return {"rss_mb": (now.rss_bytes if now else 0) / 1e6, "peak_rss_mb": peak / 1e6}

    def _settle(self) -> None:
        while True:
            plan = self.state.cycle(self.now)
            self._apply(plan)
            if not plan.starts and not plan.preemptions:
                return

    def _apply(self, plan: Plan) -> None:
        """Whoever is told to leave has left at once, and waits again."""
        for leaving in plan.preemptions:
            self._remove(leaving.job_id)
            self.state.released(leaving.job_id)
            self.state.queued(self._demands[leaving.job_id])
        for start in plan.starts:
            self._at[start.job_id] = len(self._running)
            self._running.append(start.job_id)
        self.started += len(plan.starts)
        self.preempted += len(plan.preemptions)

    def _ends(self) -> JobDemand:
        job_id = self._source.choice(self._running)
        self._remove(job_id)
        return self._demands.pop(job_id)

    def _remove(self, job_id: str) -> None:
        at = self._at.pop(job_id, None)
        if at is None:
            return
        last = self._running.pop()
        if last != job_id:
            self._running[at] = last
            self._at[last] = at

    def _queue_up_to(self, jobs: int) -> None:
        for _ in range(jobs - self.state.waiting):
            demand = next(self._coming)
            self._demands[demand.job_id] = demand
            self.state.queued(demand)

    def _forget(self) -> None:
        """As if every node had changed, and somebody had come and gone in every virtual cluster."""
        for nodes in (self.state.allocations.nodes, *self.state.guarantees.cells.values()):
            nodes.misfits.forget()
            nodes.touched.update(nodes.by_name)
        for vc in self.state.settings.by_name:
            passing = replace(next(self._coming), vc=vc)
            self.state.queued(passing)
            self.state.unqueued(passing.job_id)

    def _busy_gpus(self) -> int:
        return sum(task.resources.gpus for job_id in self._running for task in self._demands[job_id].tasks)


class Plain:
    """The same crowd by plain first fit."""

    def __init__(self, nodes: int, jobs: int, phase_s: float) -> None:
        self._jobs, self._phase_s = jobs, phase_s
        self._source = random.Random(1)
        self._coming = crowd.demands(1, crowd.QUEUED_OVER_S)
        self._other = FirstFit(nodes, crowd.GPUS_PER_NODE, islice(self._coming, jobs))

    def run(self) -> Figures:
        return {**self._fill(), **self._flow(), **self._look()}

    def _fill(self) -> Figures:
        began, last = process_time(), process_time()
        for has_started in self._other.look():
            last = process_time() if has_started else last
            if process_time() - began > self._phase_s:
                break
        return {"plain_fill_per_s": len(self._other.running) / (last - began)}

    def _flow(self) -> Figures:
        """In a full cluster, whether it was filled in time or not."""
        self._other.free = [0] * len(self._other.free)
        running, started, began = list(self._other.running), 0, process_time()
        while running and process_time() - began < self._phase_s:
            at = self._source.randrange(len(running))
            running[at], running[-1] = running[-1], running[at]
            self._other.release(running.pop())
            started += any(self._other.look())
            self._other.add(next(self._coming))
        return {"plain_placements_per_s": started / (process_time() - began)}

    def _look(self) -> Figures:
        self._other.free = [0] * len(self._other.free)
        began, looked_at = process_time(), 0
        for _ in self._other.look():
            looked_at += 1
            if process_time() - began > self._phase_s:
                break
        return {"plain_pass_s": (process_time() - began) * self._jobs / max(1, looked_at)}


def phases(nodes: int, jobs: int, steps: int, phase_s: float) -> Iterator[tuple[str, Callable[[], Figures]]]:
    rush = Rush(nodes, jobs, phase_s)
    yield "set up", rush.set_up
    yield "queue", rush.queue
    yield "fill", rush.fill
    yield "top up", rush.top_up
    yield "flow", lambda: rush.flow(steps)
    yield "look", rush.look
    yield "idle", rush.idle
    yield "weigh", rush.weigh
    yield "look at unlike", rush.look_at_unlike
    yield "plain", Plain(nodes, jobs, phase_s / TENTH).run


@contextmanager
def _profiled(phase: str) -> Iterator[None]:
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        print(f"== {phase}", file=sys.stderr)
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(PROFILED)


@contextmanager
def _plainly(phase: str) -> Iterator[None]:
    yield


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scheduling.rushing", description=__doc__)
    for name in ("nodes", "jobs", "steps"):
        parser.add_argument(name, type=int)
    parser.add_argument("--phase-s", type=float, default=60.0, help="a phase that repeats itself stops after so long")
    parser.add_argument("--profile", action="store_true", help="the most expensive functions of each phase")
    arguments = parser.parse_args()
    around = _profiled if arguments.profile else _plainly
    for name, run in phases(arguments.nodes, arguments.jobs, arguments.steps, arguments.phase_s):
        with around(name):
            figures = run()
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
