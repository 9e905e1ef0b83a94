"""How much of a cluster of many kinds of nodes is in use once it is full, with tasks that take parts of a GPU.

As FGD's authors do it: tasks drawn anew from the trace come one after another until they have asked for 130 % of the
GPUs; nobody leaves, and whoever does not fit is gone.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.scheduling.lines import BEST_FIT_ALLOCATED, FGD, FGD_ALLOCATED
from bench.scheduling.replaying import SEEDS
from bench.scheduling.traces import jobs_of, trace_file
from bench.table import Row, Sheet, Unit, at_least
from muster.domain.nodes import Node, NodeState
from muster.domain.resources import WHOLE_GPU, Capacity, Device, Resources
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand, TaskDemand
from muster.simulation.options import NodeGroup
from muster.simulation.records import TraceJob
from muster.simulation.traces import read_nodes

TRACE, NODES = "openb2023_default", "openb2023_nodes.csv.gz"
DEMAND = 1.3
MIB = 1 << 20
BAR = at_least(93.1, aim=95.4)
WHAT = "openb2023, saturated: GPUs allocated"
HEAD = ("GPU model", "seed", "tasks", "placed", "GPUs asked", "GPUs allocated", "of all", "whole cards free")


@dataclass(frozen=True)
class Packed:
    seed: int
    tasks: int
    placed: int
    asked_gpu_m: int
    allocated_gpu_m: int
    all_gpu_m: int
    untouched: int
    """Cards that nobody has a part of."""

    @property
    def percent(self) -> float:
        return 100 * self.allocated_gpu_m / self.all_gpu_m


def run(scale: Scale, figures: Figures) -> Sequence[Row | Sheet]:
    jobs, nodes = jobs_of(TRACE), machines(read_nodes(trace_file(NODES)))
    seeds = SEEDS[:1] if scale.trace_jobs else SEEDS
    anywhere = [packed(_without_model(jobs), nodes, seed) for seed in seeds]
    kept = [packed(jobs, nodes, seed) for seed in seeds] if any(job.gpu_type for job in jobs) else []
    note = f"mean of {len(seeds)} seeds" + ("" if kept else "; no task of this trace asks for a model")
    rows = [
        Row(WHAT, Unit.PERCENT, _mean(anywhere), "best fit", BEST_FIT_ALLOCATED, BAR, note),
        Row(WHAT, Unit.PERCENT, _mean(anywhere), FGD, FGD_ALLOCATED),
    ]
    if kept:
        rows.append(Row(f"{WHAT}, models as asked", Unit.PERCENT, _mean(kept)))
    lines = [*(_line("any", each) for each in anywhere), *(_line("as asked", each) for each in kept)]
    return [*rows, Sheet("openb2023 at 130 % of demand", [HEAD, *lines])]


def packed(jobs: Sequence[TraceJob], nodes: Sequence[Node], seed: int) -> Packed:
    state = ClusterState("openb", may_interrupt=False)
    for node in nodes:
        state.node_changed(node)
    all_gpu_m = sum(len(node.capacity.devices) for node in nodes) * WHOLE_GPU
    tasks = placed = asked = allocated = 0
    for demand in resampled(jobs, seed, round(DEMAND * all_gpu_m)):
        gpu_m = sum(task.resources.gpu_m for task in demand.tasks)
        tasks, asked = tasks + 1, asked + gpu_m
        state.queued(demand)
        if state.cycle(0.0).starts:
            placed, allocated = placed + 1, allocated + gpu_m
        else:
            state.unqueued(demand.job_id)
    untouched = sum(
        len(node.capacity.devices) - len(state.used(node.name)[2]) for node in nodes if node.capacity.devices
    )
    return Packed(seed, tasks, placed, asked, allocated, all_gpu_m, untouched)


def resampled(jobs: Sequence[TraceJob], seed: int, gpu_m: int) -> Iterator[JobDemand]:
    """Tasks drawn with replacement until together they ask for so much."""
    source = random.Random(seed)
    number = 0
    while gpu_m > 0:
        resources = _resources(source.choice(jobs))
        yield JobDemand(f"task-{number:06}", "task", (TaskDemand("worker", 0, resources),), created_at=float(number))
        gpu_m -= resources.gpu_m
        number += 1


def machines(groups: Sequence[NodeGroup]) -> list[Node]:
    return [
        Node(f"node-{kind:02}-{index:04}", "openb", "", _capacity(group), NodeState.READY)
        for kind, group in enumerate(groups)
        for index in range(group.count)
    ]


def _capacity(group: NodeGroup) -> Capacity:
    devices = tuple(Device(index, group.model) for index in range(group.gpus))
    return Capacity(round((group.cpus or 0) * 1000), round((group.mem_mib or 0) * MIB), devices)


def _resources(job: TraceJob) -> Resources:
    """A part of one card, or whole cards of one node."""
    models = (job.gpu_type,) if job.gpu_type else ()
    cpu_m, memory = round(job.cpus * 1000), round(job.mem_mib * MIB)
    if 0 < job.gpus < 1:
        return Resources(cpu_m, memory, 1, models, max(1, round(job.gpus * WHOLE_GPU)))
    return Resources(cpu_m, memory, int(job.gpus), models)


def _without_model(jobs: Sequence[TraceJob]) -> list[TraceJob]:
    return [TraceJob(job.job_id, 0, 0, job.gpus, cpus=job.cpus, mem_mib=job.mem_mib) for job in jobs]


def _mean(runs: Sequence[Packed]) -> float:
    return fsum(each.percent for each in runs) / len(runs)


def _line(models: str, each: Packed) -> tuple[str, ...]:
    gpus = (each.asked_gpu_m / WHOLE_GPU, each.allocated_gpu_m / WHOLE_GPU)
    counts = (f"{each.tasks:,}", f"{each.placed:,}", *(f"{value:,.1f}" for value in gpus))
    return (models, str(each.seed), *counts, f"{each.percent:.2f} %", str(each.untouched))


def _bars(figures: Figures) -> Sequence[Row]:
    return [
        Row(WHAT, Unit.PERCENT, None, "best fit", BEST_FIT_ALLOCATED, BAR),
        Row(WHAT, Unit.PERCENT, None, FGD, FGD_ALLOCATED),
    ]


CASE = Case("openb", "parts of GPUs on many kinds of nodes, saturated", run, _bars)
