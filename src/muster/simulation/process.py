"""The process that simulates for a server: `python -m muster.simulation.process`.

It reads JSON lines from standard input, the plan first and then lists of jobs, and writes JSON lines: `progress` while
it works, and at the end `result` or `error`. It limits itself before it reads anything: it is as nice as can be, and
has bounds on memory and CPU time.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muster.domain.errors import Invalid
from muster.lib.gc_tuning import tune_garbage_collector
from muster.simulation.curves import curves, time_axis, wait_quantiles
from muster.simulation.driver import simulate
from muster.simulation.metrics import summarise
from muster.simulation.options import NodeGroup, Options, Policy, parse_durations, parse_preemption_cost
from muster.simulation.recorded import Recorded, recorded_run
from muster.simulation.records import Run, TraceJob

_NICEST = 19
_MIB = 1 << 20
_GROUPS = ("vcs", "users", "never_jobs", "wall_s")
"""Parts of a summary that may be long, or say nothing to people."""


def main() -> int:
    memory_bytes, cpu_s = int(sys.argv[1]), int(sys.argv[2])
    os.nice(_NICEST)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        plan, *jobs = (json.loads(line) for line in sys.stdin)
        _tell(result=simulated({**plan, "jobs": [job for some in jobs for job in some]}, _Progress()))
    except MemoryError:
        _tell(error="it needs too much memory: replay fewer jobs")
    except (Invalid, ValueError) as error:
        _tell(error=str(error))
    return 0


class _Progress:
    """Reports progress, at most a hundred times."""

    def __init__(self) -> None:
        self._told = 0.0

    def __call__(self, share: float) -> None:
        if share >= self._told + 0.01:
            self._told = share
            _tell(progress=round(share, 3))


def _tell(**message: Any) -> None:
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def simulated(plan: Mapping[str, Any], progress: Callable[[float], None]) -> dict[str, Any]:
    """The curves of what really happened and of all variants, over one axis of time."""
    tune_garbage_collector()
    begin_s = min((job["createdAt"] for job in plan["jobs"]), default=0.0)
    found = sorted(
        (_recorded(job, begin_s) for job in plan["jobs"]), key=lambda one: (one.job.submit_s, one.job.job_id)
    )
    jobs = [each.job for each in found]
    runs = [recorded_run(found, plan["ownGpus"])]
    variants = plan["variants"]
    for place, variant in enumerate(variants):

        def tell(share: float, place: int = place) -> None:
            progress((place + share) / len(variants))

        runs.append(simulate(jobs, _nodes(variant["nodes"]), _options(plan, variant), tell))
    titles = [runs[0].policy, *(variant["title"] for variant in variants)]
    axis = time_axis(runs, plan["points"])
    return {
        "at": [round(begin_s + at_s, 3) for at_s in axis],
        "jobs": len(jobs),
        "runs": [_shown(run, title, axis) for run, title in zip(runs, titles, strict=True)],
    }


def _shown(run: Run, title: str, axis: Sequence[float]) -> dict[str, Any]:
    summary = {key: value for key, value in summarise(run).items() if key not in _GROUPS}
    return {"title": title, "summary": summary, "waits": wait_quantiles(run), "curves": curves(run, axis)}


def _options(plan: Mapping[str, Any], variant: Mapping[str, Any]) -> Options:
    return Options(
        Policy(variant["policy"]),
        durations=parse_durations(plan["durations"]),
        preemption_cost=parse_preemption_cost(plan["preemptionCost"]),
    )


def _recorded(job: Mapping[str, Any], begin_s: float) -> Recorded:
    started_s, ended_s = job["startedAt"] - begin_s, job["endedAt"] - begin_s
    return Recorded(_trace_job(job, begin_s), started_s, ended_s, job["preemptions"])


def _trace_job(job: Mapping[str, Any], begin_s: float) -> TraceJob:
    return TraceJob(
        job_id=job["id"],
        submit_s=job["createdAt"] - begin_s,
        duration_s=job["ranS"],
        gpus=job["gpuM"] / 1000,
        user=job["owner"],
        vc=job["vc"],
        gpu_type=job["gpuModel"],
        cpus=job["cpuM"] / 1000,
        mem_mib=job["memoryBytes"] / _MIB,
        limit_s=job["timeLimitS"],
    )


def _nodes(groups: Sequence[Mapping[str, Any]]) -> list[NodeGroup]:
    return [
        NodeGroup(
            group["count"],
            group["gpus"],
            group["model"],
            cpus=group["cpuM"] / 1000,
            mem_mib=group["memoryBytes"] / _MIB,
        )
        for group in groups
    ]


if __name__ == "__main__":
    sys.exit(main())
