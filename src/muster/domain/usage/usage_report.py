"""A report of what was used in a window of time, in groups: by user, virtual cluster, node or cluster.

Jobs are given one after the other, so that the report of a year needs no more memory than its groups and one number
for each wait. What is only partly within the window is cut to it.
"""

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from muster.domain.resources import WHOLE_GPU
from muster.domain.used_resources import UsedResources

NO_GROUP = "(none)"
"""The name of the group of jobs without a virtual cluster, and of tasks whose node is not known."""


class GroupBy(StrEnum):
    USER = "user"
    VC = "vc"
    NODE = "node"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class TaskRun:
    id: str
    node: str
    started_at: float
    ended_at: float | None
    cpu_m: int
    gpu_m: int
    used: UsedResources | None


@dataclass(frozen=True, slots=True)
class JobRun:
    """A job as the report needs it. `fault` is the kind of the fault with which it failed, else empty."""

    owner: str
    vc: str
    cluster: str
    created_at: float
    started_at: float | None
    ended_at: float | None
    fault: str
    tasks: tuple[TaskRun, ...]


@dataclass(frozen=True, slots=True)
class ReportWindow:
    since: float
    until: float

    def part_s(self, start: float, end: float) -> float:
        return max(0.0, min(end, self.until) - max(start, self.since))

    def contains(self, instant: float | None) -> bool:
        return instant is not None and self.since <= instant < self.until


@dataclass(frozen=True, slots=True)
class ReportLine:
    group: str
    jobs: int
    gpu_h: float
    idle_gpu_h: float
    """GPU hours of devices that were less busy than the threshold, over the whole run of their tasks."""
    unmeasured_gpu_h: float
    gpu_percent: float | None
    cpu_h: float
    used_cpu_h: float
    median_wait_s: float | None
    p95_wait_s: float | None
    failures: Mapping[str, int]
    slowness: float | None = None
    """How long tasks ran on a node, compared with the median of the same role of the same jobs. None in other reports,
    and on nodes that shared no role with another."""


@dataclass(slots=True)
class _Group:
    jobs: int = 0
    gpu_s: float = 0.0
    idle_gpu_s: float = 0.0
    unmeasured_gpu_s: float = 0.0
    busy_gpu_s: float = 0.0
    cpu_s: float = 0.0
    used_cpu_s: float = 0.0
    waits: "array[float]" = field(default_factory=lambda: array("d"))
    failures: Counter[str] = field(default_factory=Counter)
    compared_s: float = 0.0
    expected_s: float = 0.0


class Report:
    """Takes jobs one by one with `add`. `live` is what running tasks have used so far, by id."""

    def __init__(
        self,
        by: GroupBy,
        window: ReportWindow,
        now: float,
        idle_below_percent: float,
        live: Mapping[str, UsedResources | None],
    ) -> None:
        self._by = by
        self._window = window
        self._now = now
        self._idle_below = idle_below_percent
        self._live = live
        self._groups: dict[str, _Group] = {}
        self._total = _Group()

    def add(self, job: JobRun) -> None:
        ran = [task for task in job.tasks if self._part_s(task) > 0 or self._window.contains(task.ended_at)]
        if not ran and not self._window.contains(job.ended_at):
            return
        names = {self._name(job, task) for task in ran} or {self._name(job, None)}
        for group in [self._total, *(self._groups.setdefault(name, _Group()) for name in names)]:
            self._count(group, job)
        for task in ran:
            self._charge(self._total, task)
            self._charge(self._groups[self._name(job, task)], task)
        if self._by is GroupBy.NODE:
            self._compare(job, ran)

    def lines(self) -> list[ReportLine]:
        """The groups, those with the most GPU hours first, then those with the most CPU hours."""
        found = [_line(name, group) for name, group in self._groups.items()]
        return sorted(found, key=lambda line: (-line.gpu_h, -line.cpu_h, -line.jobs, line.group))

    def total(self) -> ReportLine:
        return _line("", self._total)

    def _name(self, job: JobRun, task: TaskRun | None) -> str:
        match self._by:
            case GroupBy.USER:
                return job.owner
            case GroupBy.VC:
                return job.vc or NO_GROUP
            case GroupBy.CLUSTER:
                return job.cluster
            case GroupBy.NODE:
                return (task.node if task is not None else "") or NO_GROUP

    def _count(self, group: _Group, job: JobRun) -> None:
        group.jobs += 1
        if job.started_at is not None and self._window.contains(job.started_at):
            group.waits.append(max(0.0, job.started_at - job.created_at))
        if job.fault and self._window.contains(job.ended_at):
            group.failures[job.fault] += 1

    def _charge(self, group: _Group, task: TaskRun) -> None:
        part_s = self._part_s(task)
        gpu_s = part_s * task.gpu_m / WHOLE_GPU
        group.cpu_s += part_s * task.cpu_m / 1000
        group.gpu_s += gpu_s
        used = task.used or self._live.get(task.id)
        run_s = (task.ended_at or self._now) - task.started_at
        if used is not None and used.cpu_s is not None:
            group.used_cpu_s += used.cpu_s * (part_s / run_s if run_s > 0 else 1.0)
        if not gpu_s:
            return
        known = [gpu.mean_percent for gpu in used.gpus if gpu.mean_percent is not None] if used is not None else []
        if not known:
            group.unmeasured_gpu_s += gpu_s
            return
        each_s = gpu_s / len(known)
        group.idle_gpu_s += each_s * sum(percent < self._idle_below for percent in known)
        group.busy_gpu_s += each_s * sum(known) / 100

    def _compare(self, job: JobRun, ran: Sequence[TaskRun]) -> None:
        """Tasks of the same role and attempt do the same work, so that a node on which they run longer is slower."""
        roles: dict[str, list[tuple[TaskRun, float]]] = {}
        for task in ran:
            if task.ended_at is not None:
                roles.setdefault(task.id.rpartition(".")[0], []).append((task, task.ended_at - task.started_at))
        for peers in roles.values():
            usual_s = quantile(sorted(run_s for _, run_s in peers), 0.5)
            if not usual_s or len({task.node for task, _ in peers}) < 2:
                continue
            for task, run_s in peers:
                group = self._groups[self._name(job, task)]
                group.compared_s += run_s
                group.expected_s += usual_s

    def _part_s(self, task: TaskRun) -> float:
        return self._window.part_s(task.started_at, self._now if task.ended_at is None else task.ended_at)


def _line(name: str, group: _Group) -> ReportLine:
    measured_s = group.gpu_s - group.unmeasured_gpu_s
    waits = sorted(group.waits)
    return ReportLine(
        name,
        group.jobs,
        group.gpu_s / 3600,
        group.idle_gpu_s / 3600,
        group.unmeasured_gpu_s / 3600,
        100 * group.busy_gpu_s / measured_s if measured_s > 0 and group.busy_gpu_s >= 0 else None,
        group.cpu_s / 3600,
        group.used_cpu_s / 3600,
        quantile(waits, 0.5),
        quantile(waits, 0.95),
        dict(sorted(group.failures.items())),
        group.compared_s / group.expected_s if group.expected_s > 0 else None,
    )


def quantile(ordered: "list[float]", part: float) -> float | None:
    """The smallest value that this part of all values does not exceed; None if there is none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None
