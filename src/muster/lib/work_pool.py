"""A small pool of threads with a bounded queue, for work that takes too long for an event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class PoolFull(Exception):
    """All threads are busy and the queue is full."""


class WorkPool:
    """Work whose caller has gone still occupies its thread, so it is counted until it has really ended."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + waiting
        self._lock = threading.Lock()
        self._count = 0

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Runs the work in a thread. Raises PoolFull at once if too much is waiting already."""
        with self._lock:
            if self._count >= self._most:
                raise PoolFull
            self._count += 1
        try:
            future = self._executor.submit(work, *arguments)
        except BaseException:
            self._count_down()
            raise
        future.add_done_callback(self._ended)
        return await asyncio.wrap_future(future)

    def _ended(self, _: Future[Any]) -> None:
        self._count_down()

    def _count_down(self) -> None:
        with self._lock:
            self._count -= 1
