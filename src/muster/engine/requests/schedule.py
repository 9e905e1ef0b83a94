"""The schedule: which tasks had which nodes and devices when, what is expected to start, and what is reserved."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from muster.domain.jobs import HOLDING
from muster.domain.schedule import ExpectedStart, Reserved, TaskSpan
from muster.domain.tasks import Task, TaskLaunching, TaskPreparing, TaskWaiting
from muster.domain.usage.usage_report import ReportWindow
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.scheduling.allocations.usage_views import WhatIf
from muster.scheduling.demand import JobDemand
from muster.scheduling.reporting.start_forecast import expected_starts
from muster.scheduling.reporting.supposing import suppose_on

MOST_EXPECTED = 100
"""How many starts are looked for on each cluster."""
_KEPT_S = 3.0
"""How long a look ahead is good for everybody who asks, at least."""
_KEPT_TIMES = 100
"""It is good for so many times the time that the copy took, so that copies take no more than a hundredth of the event
loop's time."""
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Spans:
    items: list[TaskSpan]
    is_cut: bool
    """Whether there are more than were asked for: those that began first are missing."""


async def task_spans(context: Context, window: ReportWindow, clusters: Sequence[str], limit: int) -> Spans:
    """Those of open jobs are as they are in memory, where also tasks are that have not started yet."""
    kept = await context.store.task_spans(window, clusters, limit=limit + 1)
    found = {span.id: span for span in kept} | {span.id: span for span in _live(context, window, set(clusters))}
    newest = sorted(found.values(), key=lambda span: (span.began_at, span.id), reverse=True)
    return Spans(newest[:limit], len(newest) > limit)


def _live(context: Context, window: ReportWindow, clusters: set[str]) -> Iterator[TaskSpan]:
    for entry in context.open_jobs.entries():
        if entry.job.cluster not in clusters or not isinstance(entry.job.state, HOLDING):
            continue
        for task in entry.tasks.values():
            span = _span(entry, task)
            if span is not None and window.part_s(span.began_at, span.ended_at or window.until) > 0:
                yield span


def _span(entry: Entry, task: Task) -> TaskSpan | None:
    """Returns None for a task that has no node yet."""
    began_at = task.started_at
    if began_at is None and isinstance(task.state, TaskLaunching | TaskPreparing):
        began_at = task.state.since
    if began_at is None or not task.placement.node:
        return None
    limit_s = entry.job.spec.time_limit_s
    return TaskSpan(
        task.id,
        task.name,
        task.job_id,
        entry.job.name,
        entry.job.owner,
        entry.job.cluster,
        task.placement.node,
        task.placement.devices,
        began_at,
        task.ended_at,
        task.state_name,
        None if limit_s is None or task.has_ended else began_at + limit_s,
    )


def reserved_on(context: Context, cluster: str) -> list[Reserved]:
    state = context.clusters.get(cluster)
    found = state.reserved() if state is not None else []
    # The nodes of an engine are one pool here, which says nothing to people.
    return found if context.engine(cluster) is None else [replace(one, nodes=()) for one in found]


@dataclass(frozen=True, slots=True)
class _Copied:
    """A copy of the state of a cluster; none if it is too large to be copied."""

    snapshot: bytes | None
    good_until: float

    @property
    def is_good(self) -> bool:
        return time.monotonic() < self.good_until


class LookAhead:
    """What is expected to start on each cluster, and what one more job would meet there. Both are worked out on a
    thread, from a copy of the scheduler's state, which is good for all who ask within a few seconds. The copy is made
    on the event loop, so that the larger it is, the longer it is good for."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._copies: dict[str, _Copied] = {}
        self._known: dict[str, tuple[_Copied, list[ExpectedStart]]] = {}
        """The expected starts of each cluster, and of which copy they are."""
        self._supposing = asyncio.Lock()

    async def expected(self, context: Context, cluster: str) -> list[ExpectedStart]:
        """The next starts, soonest first."""
        async with self._locks[cluster]:
            known = self._known.get(cluster)
            if known is None or not known[0].is_good:
                known = self._known[cluster] = await self._looked_ahead(context, cluster)
        waiting = (one for one in known[1] if context.open_jobs.get(one.job_id) is not None)
        return sorted((*waiting, *_expected_by_engine(context, cluster)), key=lambda one: (one.at, one.job_id))

    async def _looked_ahead(self, context: Context, cluster: str) -> tuple[_Copied, list[ExpectedStart]]:
        state = context.clusters.get(cluster)
        if state is None or not state.is_short:
            return _Copied(None, time.monotonic() + _KEPT_S), []
        copied = self._copied(context, cluster)
        return copied, [] if copied.snapshot is None else await _starts(context, cluster, copied.snapshot)

    async def supposed(self, context: Context, cluster: str, job: JobDemand) -> WhatIf:
        """What a job would meet that is not in the queue. One is worked out at a time, and who would have to wait long
        for it is answered that nothing is known, so that the jobs themselves are not slowed down."""
        snapshot = self._copied(context, cluster).snapshot
        if snapshot is None:
            return WhatIf((), None)
        try:
            await asyncio.wait_for(self._supposing.acquire(), _PATIENCE_S)
        except TimeoutError:
            return WhatIf((), None)
        try:
            return await asyncio.to_thread(suppose_on, snapshot, job, context.clock())
        finally:
            self._supposing.release()

    def _copied(self, context: Context, cluster: str) -> _Copied:
        copied = self._copies.get(cluster)
        if copied is None or not copied.is_good:
            state = context.clusters.get(cluster)
            began = time.monotonic()
            snapshot = state.snapshot() if state is not None else None
            good_until = began + max(_KEPT_S, _KEPT_TIMES * (time.monotonic() - began))
            copied = self._copies[cluster] = _Copied(snapshot, good_until)
        return copied


async def _starts(context: Context, cluster: str, snapshot: bytes) -> list[ExpectedStart]:
    found = await asyncio.to_thread(expected_starts, snapshot, context.clock(), MOST_EXPECTED)
    first: dict[str, ExpectedStart] = {}
    for one in found:
        first.setdefault(one.job_id, one if context.engine(cluster) is None else replace(one, nodes=()))
    return list(first.values())


def _expected_by_engine(context: Context, cluster: str) -> Iterator[ExpectedStart]:
    """What the engine of the cluster says about tasks in its queue."""
    if context.engine(cluster) is None:
        return
    now = context.clock()
    for entry in context.open_jobs.entries():
        if entry.job.cluster != cluster:
            continue
        states = [task.state for task in entry.tasks.values()]
        starts = [state.starts_at for state in states if isinstance(state, TaskWaiting) and state.starts_at]
        if starts and max(starts) > now:
            at, limit_s = max(starts), entry.job.spec.time_limit_s
            yield ExpectedStart(entry.job.id, at, None if limit_s is None else at + limit_s, ())
