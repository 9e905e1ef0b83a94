"""Publishes committed events to subscribers, in the order of their sequence numbers.

A subscriber that does not keep up is cut off, not waited for. It comes back with the last number that it saw, and reads
the rest from the store.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from muster.domain.events import Event

_QUEUE_LIMIT = 10_000


class Subscription:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event] = asyncio.Queue(_QUEUE_LIMIT)
        self.is_cut_off = False

    def offer(self, event: Event) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self.is_cut_off = True

    async def next(self, timeout_s: float) -> Event | None:
        """The next event, or None if none came in time."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._queue.get()
        except TimeoutError:
            return None


class Hub:
    def __init__(self) -> None:
        self._all: set[Subscription] = set()
        self._by_job: dict[str, set[Subscription]] = {}
        self.last_seq = 0

    def publish(self, events: Sequence[Event]) -> None:
        for event in events:
            self.last_seq = max(self.last_seq, event.seq)
            for subscription in [*self._all, *self._by_job.get(event.job_id or "", ())]:
                if not subscription.is_cut_off:
                    subscription.offer(event)

    @contextmanager
    def subscribe(self, job_id: str | None = None) -> Iterator[Subscription]:
        subscription = Subscription()
        group = self._all if job_id is None else self._by_job.setdefault(job_id, set())
        group.add(subscription)
        try:
            yield subscription
        finally:
            group.discard(subscription)
            if job_id is not None and not group:
                self._by_job.pop(job_id, None)
