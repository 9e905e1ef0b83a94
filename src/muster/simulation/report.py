"""The results of runs as rows of text, with a column for each policy. It does not know how they are drawn."""

from collections.abc import Callable, Sequence
from typing import Any

from muster.simulation.metrics import Summary

Rows = list[tuple[str, ...]]
Write = Callable[[float], str]


def comparison(summaries: Sequence[Summary], time: Write) -> Rows:
    """A row for each measure; the first row names the policies. `time` writes seconds."""
    measures: tuple[tuple[str, str, Write], ...] = (
        ("jobs", "jobs", _count),
        ("JCT, mean", "mean_jct", time),
        ("JCT, median", "p50_jct", time),
        ("JCT, p90", "p90_jct", time),
        ("JCT, p99", "p99_jct", time),
        ("JCT, longest", "max_jct", time),
        ("queue, mean", "mean_queue", time),
        ("queue, median", "p50_queue", time),
        ("queue, p90", "p90_queue", time),
        ("queue, p99", "p99_queue", time),
        ("queue, longest", "max_queue", time),
        ("slowdown, mean", "mean_slowdown", _digits),
        ("makespan", "makespan", time),
        ("GPUs busy", "utilisation", _percent),
        ("  while jobs wait", "busy_while_waiting", _percent),
        ("  kept by fragments", "fragmentation", _percent),
        ("preemptions", "preemptions", _count),
        ("GPU hours lost", "lost_gpu_h", _digits),
    )
    rows = [("", *(summary["policy"] for summary in summaries))]
    rows += [(title, *(_written(summary[name], write) for summary in summaries)) for title, name, write in measures]
    for title, name in (("fairness of VCs", "vcs"), ("fairness of users", "users")):
        if any(len(summary[name]) > 1 for summary in summaries):
            rows.append((title, *(_written(summary["fairness"][name], _digits) for summary in summaries)))
    if any(summary["prediction_error"] is not None for summary in summaries):
        rows.append(("prediction off by", *(_written(each["prediction_error"], _percent) for each in summaries)))
    if any("worse_off" in summary for summary in summaries):
        rows.append(("worse off than apart", *(_written(each.get("worse_off"), _percent) for each in summaries)))
    if any(summary["never"] for summary in summaries):
        rows.append(("never ran", *(_count(summary["never"]) for summary in summaries)))
    return rows


def breakdown(summaries: Sequence[Summary], groups: str, time: Write) -> Rows:
    """A row for each of the `vcs` or `users`: all about them under one policy, or their queue under several."""
    title = {"vcs": "VC", "users": "USER"}[groups]
    names = sorted({name for summary in summaries for name in summary[groups]})
    if not names:
        return []
    if len(summaries) == 1:
        return _details(title, summaries[0][groups], time)
    rows: Rows = [(title, "JOBS", *(f"MEAN QUEUE, {summary['policy']}" for summary in summaries))]
    for name in names:
        found = [summary[groups].get(name) for summary in summaries]
        jobs = max(each["jobs"] for each in found if each)
        rows.append((name, _count(jobs), *(_written(each and each["mean_queue"], time) for each in found)))
    return rows


def _details(title: str, groups: dict[str, Summary], time: Write) -> Rows:
    head = (title, "JOBS", "MEAN JCT", "P99 JCT", "MEAN QUEUE", "P99 QUEUE", "SLOWDOWN", "PREEMPTIONS", "GPU HOURS")
    rows: Rows = [head]
    for name, each in groups.items():
        times = (time(each[key]) for key in ("mean_jct", "p99_jct", "mean_queue", "p99_queue"))
        rest = (_digits(each["mean_slowdown"]), _count(each["preemptions"]), _count(each["gpu_s"] / 3600))
        rows.append((name, _count(each["jobs"]), *times, *rest))
    return rows


def in_seconds(seconds: float) -> str:
    return f"{seconds:,.2f}".removesuffix(".00")


def _written(value: Any, write: Write) -> str:
    return "-" if value is None else write(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _digits(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value * 100:.1f} %"
