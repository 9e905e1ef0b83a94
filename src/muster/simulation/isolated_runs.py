"""Simulates every virtual cluster alone on its guaranteed nodes, which is what sharing is compared with."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from muster.domain.errors import Invalid
from muster.simulation.metrics import last_end_s
from muster.simulation.options import NodeGroup, Options
from muster.simulation.records import Run, Sample, TraceJob

WORSE_BY_S = 60.0
Progress = Callable[[float], None] | None
Simulate = Callable[[Sequence[TraceJob], Sequence[NodeGroup], Options, Progress], Run]


def apart(simulate: Simulate) -> Simulate:
    """The same for every virtual cluster alone, as one run."""
    return partial(_simulate_apart, simulate)


def worse_off(together: Run, apart: Run) -> float | None:
    """The share of jobs that ended over a minute later together than apart; None if no job ran in both."""
    alone = {done.job.job_id: done.end_s for done in apart.finished}
    later = [done.end_s - alone[done.job.job_id] for done in together.finished if done.job.job_id in alone]
    return sum(by_s > WORSE_BY_S for by_s in later) / len(later) if later else None


def _simulate_apart(
    simulate: Simulate, jobs: Sequence[TraceJob], nodes: Sequence[NodeGroup], options: Options, progress: Progress
) -> Run:
    quota = options.vc_quota or {}
    if len(nodes) != 1 or not quota:
        raise Invalid(
            "virtual clusters can be simulated apart only with a quota, on nodes that are all alike",
            hint="give --vc or --vc-quota, and --nodes of one kind",
        )
    runs = []
    for place, (name, count) in enumerate(quota.items()):
        own = [job for job in jobs if job.vc == name]
        runs.append(simulate(own, [replace(nodes[0], count=count)], replace(options, vc_quota=None), None))
        if progress:
            progress((place + 1) / len(quota))
    return Run(
        policy=f"{options.policy} apart",
        gpus=sum(run.gpus for run in runs),
        finished=[done for run in runs for done in run.finished],
        samples=_added_up(runs),
        never=[job for run in runs for job in run.never],
        wall_s=sum(run.wall_s for run in runs),
    )


def _added_up(runs: Sequence[Run]) -> list[Sample]:
    """The sum over the runs at every moment at which one of them changes; a run that is over adds nothing."""
    changes = heapq.merge(*(_changes(run) for run in runs), key=lambda change: change.at_s)
    total: list[Sample] = []
    for change in changes:
        before = total[-1] if total else Sample(change.at_s, 0, 0, 0)
        if before.at_s == change.at_s and total:
            total.pop()
        total.append(_sum(before, change))
    return total


def _changes(run: Run) -> Iterator[Sample]:
    """Yields by how much each sample differs from the one before it, down to nothing at the end."""
    before = Sample(0, 0, 0, 0)
    for sample in [*run.samples, Sample(last_end_s(run), 0, 0, 0)]:
        yield Sample(
            sample.at_s,
            sample.busy_gpus - before.busy_gpus,
            sample.waiting_jobs - before.waiting_jobs,
            sample.waiting_gpus - before.waiting_gpus,
            sample.fragmented_gpus - before.fragmented_gpus,
        )
        before = sample


def _sum(before: Sample, change: Sample) -> Sample:
    return Sample(
        change.at_s,
        before.busy_gpus + change.busy_gpus,
        before.waiting_jobs + change.waiting_jobs,
        before.waiting_gpus + change.waiting_gpus,
        before.fragmented_gpus + change.fragmented_gpus,
    )
