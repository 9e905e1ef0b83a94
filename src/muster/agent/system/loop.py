"""The event loop: readiness of descriptors, timers, and results of blocking work, all on one thread.

Not asyncio: its child watching differs between every Python from 3.8 to 3.14, and this needs a tenth of it.
"""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import time
from collections import deque
from typing import TYPE_CHECKING, Callable, Deque, List, Optional, Tuple, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

T = TypeVar("T")
Callback = Callable[[], None]


class Timer:
    """A call that waits for its time; cancelling one that has run is harmless."""

    def __init__(self, callback: Callback) -> None:
        self._callback: Optional[Callback] = callback

    def cancel(self) -> None:
        self._callback = None

    def run(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Loop:
    def __init__(self, pool: Optional[Executor] = None) -> None:
        """`pool` does the blocking work. A shim has none: it must stay small, because it is forked for every task."""
        self._selector = selectors.DefaultSelector()
        self._timers: List[Tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._posted: Deque[Callback] = deque()
        self._turn_ends: List[Callback] = []
        self._pool = pool
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self.add_reader(self._wake_read, self._run_posted)
        self._running = True

    def add_reader(self, fd: int, callback: Callback) -> None:
        self._selector.register(fd, selectors.EVENT_READ, callback)

    def add_writer(self, fd: int, callback: Callback) -> None:
        self._selector.register(fd, selectors.EVENT_WRITE, callback)

    def remove(self, fd: int) -> None:
        self._selector.unregister(fd)

    def call_later(self, delay_s: float, callback: Callback) -> Timer:
        timer = Timer(callback)
        heapq.heappush(self._timers, (time.monotonic() + delay_s, next(self._order), timer))
        return timer

    def at_turn_end(self, callback: Callback) -> None:
        """Call this after every turn, once all that was ready has been handled."""
        self._turn_ends.append(callback)

    def not_at_turn_end(self, callback: Callback) -> None:
        self._turn_ends = [one for one in self._turn_ends if one != callback]

    def run_blocking(self, work: Callable[[], T], done: Callable[[Future[T]], None]) -> None:
        """Run `work` on another thread, then `done` with its future on this one."""

        def hand_back(future: Future[T]) -> None:
            self.post(lambda: done(future))

        assert self._pool is not None
        self._pool.submit(work).add_done_callback(hand_back)

    def post(self, callback: Callback) -> None:
        """The only method that other threads may call."""
        self._posted.append(callback)
        try:
            os.write(self._wake_write, b"\0")
        except BlockingIOError:
            pass  # the pipe is full of wake-ups already

    def run(self) -> None:
        while self._running:
            for key, _ in self._selector.select(self._wait_s()):
                # An earlier callback of this turn may have closed this descriptor.
                if self._is_current(key):
                    key.data()
            self._run_due_timers()
            for callback in self._turn_ends:
                callback()

    def stop(self) -> None:
        self._running = False

    def _is_current(self, key: selectors.SelectorKey) -> bool:
        return self._selector.get_map().get(key.fd) is key

    def _wait_s(self) -> Optional[float]:
        if self._posted:
            return 0
        if not self._timers:
            return None
        return max(0.0, self._timers[0][0] - time.monotonic())

    def _run_due_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2].run()

    def _run_posted(self) -> None:
        try:
            os.read(self._wake_read, 65536)
        except BlockingIOError:
            pass
        for _ in range(len(self._posted)):
            self._posted.popleft()()
