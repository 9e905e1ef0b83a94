"""Publishes committed events to subscribers, in the order of their sequence numbers.

A subscriber that does not keep up is cut off, not waited for. It comes back with the last number that it saw, and reads
the rest from the store.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from muster.domain.events import Event

_QUEUE_LIMIT = 10_000
_PAUSE_FOR_EACH_S = 0.0005
_LONGEST_PAUSE_S = 0.25

Listener = Callable[[Sequence[Event]], None]


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

    async def take(self, timeout_s: float) -> list[Event]:
        """All events that have come, but at least one, or none if none came in time."""
        first = await self.next(timeout_s)
        found = [] if first is None else [first]
        while not self._queue.empty():
            found.append(self._queue.get_nowait())
        return found


class Hub:
    def __init__(self) -> None:
        self._all: set[Subscription] = set()
        self._by_job: dict[str, set[Subscription]] = {}
        self._listeners: list[Listener] = []
        self.last_seq = 0

    def publish(self, events: Sequence[Event]) -> None:
        for listener in self._listeners:
            listener(events)
        for event in events:
            self.last_seq = max(self.last_seq, event.seq)
            for subscription in [*self._all, *self._by_job.get(event.job_id or "", ())]:
                if not subscription.is_cut_off:
                    subscription.offer(event)

    @property
    def pause_s(self) -> float:
        """How long a stream of all events waits between two messages: the longer, the more of them there are."""
        return min(_LONGEST_PAUSE_S, len(self._all) * _PAUSE_FOR_EACH_S)

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call `listener` with all events while the block lasts, at once. It must not raise."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

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
