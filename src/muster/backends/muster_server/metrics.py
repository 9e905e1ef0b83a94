"""Reads the metrics of jobs from the other server, which collects what their tasks report there."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from itertools import islice

from muster.backends.muster_server.answers import ToldMetric, ToldMetrics, ToldState
from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import Find
from muster.backends.muster_server.observing import FINAL
from muster.domain.errors import BackendError, Unreachable
from muster.domain.experiments.job_metrics import MetricPoint, MetricSeries
from muster.ports.capabilities import AttemptPoints, TaskRef

_MOST_NAMES = 1000
_MOST_POINTS = 10_000
"""The most points of one curve in one answer."""
_CURVES_AT_ONCE = 5
"""So many of them have all their points in one answer."""
_OVER_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.2


class OtherMetrics:
    """Implements `ports.capabilities.AttemptMetrics`."""

    def __init__(self, server: OtherServer, find: Find) -> None:
        self._server, self._find = server, find

    async def newer(self, task: TaskRef, known: Sequence[MetricSeries]) -> AsyncGenerator[AttemptPoints]:
        """Yields points from the last known step on. What comes later with an earlier step is found at the end."""
        last = {one.name: one.last.step for one in known}
        async for found in self._read(await self._find(task), known, last.get):
            yield found

    async def whole(self, task: TaskRef, known: Sequence[MetricSeries]) -> AsyncGenerator[AttemptPoints]:
        job = await self._find(task)
        await self._until_over(job)
        async for found in self._read(job, known, lambda name: None):
            yield found

    async def _read(
        self, job: str, known: Sequence[MetricSeries], first_step: Callable[[str], int | None]
    ) -> AsyncGenerator[AttemptPoints]:
        """The summaries come last: they say up to where the points were read."""
        before = {one.name: (one.points, one.last.step) for one in known}
        told = (await self._ask(job, points=0)).metrics[:_MOST_NAMES]
        wanted: dict[int | None, list[str]] = {}
        for one in told:
            if before.get(one.name) != (one.count, one.last.step):
                wanted.setdefault(first_step(one.name), []).append(one.name)
        for step, names in wanted.items():
            start = {} if step is None else {"from": step}
            for begin in range(0, len(names), _CURVES_AT_ONCE):
                some = names[begin : begin + _CURVES_AT_ONCE]
                curves = await self._ask(job, name=some, points=_MOST_POINTS, **start)
                yield AttemptPoints([point for one in curves.metrics for point in _curve(one)])
        yield AttemptPoints(summed=[point for one in told for point in _summary(one)])

    async def _ask(self, job: str, **asked: int | list[str]) -> ToldMetrics:
        """An answer that cannot be read is no reason to ask again."""
        answer = await self._server.request("GET", f"/jobs/{job}/metrics", params={"attempt": 1, **asked})
        try:
            return answer.read(ToldMetrics)
        except Unreachable as error:
            raise BackendError(error.message) from None

    async def _until_over(self, job: str) -> None:
        """The last metrics are stored there after the tasks have ended, and before their job has."""
        deadline = asyncio.get_running_loop().time() + _OVER_WITHIN_S
        while (await self._server.get(ToldState, f"/jobs/{job}")).state not in FINAL:
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(_LOOK_EVERY_S)


def _curve(one: ToldMetric) -> Iterator[MetricPoint]:
    return (MetricPoint(one.name, point.step, point.at, point.value) for point in islice(one.points, _MOST_POINTS))


def _summary(one: ToldMetric) -> Iterator[MetricPoint]:
    for extreme in (one.lowest, one.highest):
        if extreme is not None and extreme.step <= one.last.step:
            yield MetricPoint(one.name, extreme.step, one.last.at, extreme.value)
    yield MetricPoint(one.name, one.last.step, one.last.at, one.last.value)
