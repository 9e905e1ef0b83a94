"""Curves of runs, side by side over one axis of time and with few points, so that pages can draw them at once."""

from collections.abc import Sequence
from typing import Any

from muster.simulation.metrics import last_end_s, percentile, spans
from muster.simulation.records import Run

_QUANTILES = 50
_DIGITS = 3


def time_axis(runs: Sequence[Run], points: int) -> list[float]:
    """The beginnings of equal parts of the time in which any of the runs had a job, in seconds."""
    begin_s = min((sample.at_s for run in runs for sample in run.samples), default=0.0)
    end_s = max((last_end_s(run) for run in runs), default=begin_s)
    step_s = (end_s - begin_s) / points
    return [begin_s + step_s * place for place in range(points)] if step_s > 0 else [begin_s]


def curves(run: Run, axis: Sequence[float]) -> dict[str, list[float]]:
    """The mean of each part of the axis. A run that is over has nothing waiting and nothing busy."""
    step_s = axis[1] - axis[0] if len(axis) > 1 else 1.0
    waiting, busy, wanted = ([0.0] * len(axis) for _ in range(3))
    for sample, lasted_s in spans(run):
        place, end_s = int((sample.at_s - axis[0]) / step_s), sample.at_s + lasted_s
        at_s = sample.at_s
        while at_s < end_s and place < len(axis):
            until_s = min(end_s, axis[0] + (place + 1) * step_s)
            part = max(0.0, until_s - at_s) / step_s
            waiting[place] += sample.waiting_jobs * part
            busy[place] += sample.busy_gpus * part
            wanted[place] += sample.waiting_gpus * part
            at_s, place = until_s, place + 1
    return {"waitingJobs": _rounded(waiting), "busyGpus": _rounded(busy), "waitingGpus": _rounded(wanted)}


def wait_quantiles(run: Run) -> dict[str, Any]:
    """How long jobs waited before their first start: the share of jobs, and the seconds that they waited at most."""
    waits = sorted(max(0.0, done.first_start_s - done.job.submit_s) for done in run.finished)
    shares = [place / _QUANTILES for place in range(1, _QUANTILES + 1)] if waits else []
    return {"shares": shares, "seconds": _rounded([percentile(waits, 100 * share) for share in shares])}


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, _DIGITS) + 0.0 for value in values]
