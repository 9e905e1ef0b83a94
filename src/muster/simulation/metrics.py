"""What came of a run, in numbers.

Percentiles are nearest-rank: the smallest value that at least p percent of all are not above, so always one that
occurred. Slowdown is JCT over run time, a run time under ten seconds counted as ten, and never below 1.
Shares of time are weighted by how long each state of the cluster lasted.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from muster.simulation.records import Finished, Run, Sample

PERCENTILES = (50, 90, 99)
_SHORTEST_S = 10.0
_DIGITS = 6

Summary = dict[str, Any]


def summarise(run: Run) -> Summary:
    finished = run.finished
    vcs, users = _groups(finished, lambda done: done.job.vc), _groups(finished, lambda done: done.job.user)
    summary = {
        "policy": run.policy,
        "gpus": run.gpus,
        **_of_jobs(finished),
        **_of_time(run),
        "fairness": {"vcs": _fairness(vcs), "users": _fairness(users)},
        "prediction_error": run.prediction_error,
        "never": len(run.never),
        "never_jobs": [job.job_id for job in run.never[:10]],
        "wall_s": run.wall_s,
        "vcs": {name: _of_jobs(group) for name, group in vcs.items()},
        "users": {name: _of_jobs(group) for name, group in users.items()},
    }
    return {name: _rounded(value) for name, value in summary.items()}


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile of sorted values."""
    return ordered[max(math.ceil(percent / 100 * len(ordered)), 1) - 1]


def jain(values: Sequence[float]) -> float | None:
    """Jain's index: 1 when all are equal, 1/n when one has everything; None if there are no values."""
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else None


def slowdown(done: Finished) -> float:
    return max(done.jct_s / max(done.job.duration_s, _SHORTEST_S), 1.0)


def spans(run: Run) -> Iterator[tuple[Sample, float]]:
    """Each sample with its duration; the last one lasts until the last job has ended."""
    end_s = last_end_s(run)
    for place, sample in enumerate(run.samples):
        until_s = run.samples[place + 1].at_s if place + 1 < len(run.samples) else end_s
        if until_s > sample.at_s:
            yield sample, until_s - sample.at_s


def last_end_s(run: Run) -> float:
    return max((done.end_s for done in run.finished), default=0.0)


def _of_jobs(finished: Sequence[Finished]) -> Summary:
    jct = sorted(done.jct_s for done in finished)
    queue = sorted(done.queue_s for done in finished)
    lost_gpu_s = math.fsum(done.lost_gpu_s for done in finished)
    return {
        "jobs": len(finished),
        **_spread("jct", jct),
        **_spread("queue", queue),
        "mean_slowdown": _mean([slowdown(done) for done in finished]),
        "gpu_s": math.fsum(done.job.duration_s * done.job.gpus for done in finished),
        "preemptions": sum(done.preemptions for done in finished),
        "lost_gpu_s": lost_gpu_s,
        "lost_gpu_h": lost_gpu_s / 3600,
    }


def _of_time(run: Run) -> Summary:
    begin_s = min((done.job.submit_s for done in run.finished), default=0.0)
    end_s = last_end_s(run)
    held = list(spans(run))
    waiting = [(sample, lasted_s) for sample, lasted_s in held if sample.waiting_jobs]
    return {
        "makespan": end_s - begin_s,
        "utilisation": _share(math.fsum(sample.busy_gpus * s for sample, s in held), run.gpus * (end_s - begin_s)),
        "busy_while_waiting": _share_of(waiting, lambda sample: sample.busy_gpus, run.gpus),
        "fragmentation": _share_of(waiting, lambda sample: sample.fragmented_gpus, run.gpus),
    }


def _spread(name: str, ordered: Sequence[float]) -> Summary:
    if not ordered:
        return {f"{what}_{name}": None for what in ("mean", "p50", "p90", "p99", "max")}
    return {
        f"mean_{name}": _mean(ordered),
        **{f"p{percent}_{name}": percentile(ordered, percent) for percent in PERCENTILES},
        f"max_{name}": ordered[-1],
    }


def _groups(finished: Sequence[Finished], name_of: Callable[[Finished], str]) -> dict[str, list[Finished]]:
    """The jobs by name, in order; jobs without a name are left out."""
    groups: dict[str, list[Finished]] = {}
    for done in finished:
        if name := name_of(done):
            groups.setdefault(name, []).append(done)
    return dict(sorted(groups.items()))


def _fairness(groups: dict[str, list[Finished]]) -> float | None:
    return jain([math.fsum(map(slowdown, group)) / len(group) for group in groups.values()])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _share_of(held: list[tuple[Sample, float]], amount: Callable[[Sample], float], gpus: int) -> float | None:
    """The ratio, or None if there was no such time."""
    lasted_s = math.fsum(s for _, s in held)
    return _share(math.fsum(amount(sample) * s for sample, s in held), gpus * lasted_s)


def _rounded(value: Any) -> Any:
    """The value without rounding errors of floating point, and without `-0.0`."""
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value
