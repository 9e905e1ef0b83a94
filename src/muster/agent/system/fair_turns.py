"""Blocking work on threads of its own, of which every owner has a share: nobody waits behind all the work of another.

An owner has one thread at a time. A second one is only for owners who leave enough threads for others who may come.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Optional, Tuple

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Work = Callable[[], Any]
Done = Callable[["Future[Any]"], None]


class FairTurns:
    """All methods are called on the thread of the loop, to which `post` brings a callback. `pool` has `threads`
    threads, `kept_free` of which are only for owners who have none yet."""

    def __init__(
        self, pool: Executor, post: Callable[[Callable[[], None]], None], threads: int, kept_free: int
    ) -> None:
        self._pool = pool
        self._post = post
        self._threads = threads
        self._kept_free = kept_free
        self._running: Counter[str] = Counter()
        self._waiting: Dict[str, Deque[Tuple[Work, Done]]] = {}
        """The work that waits of each owner, in the order in which they are served."""

    def run(self, owner: str, work: Work, done: Done) -> None:
        """Run `work` on another thread when it is the owner's turn, then `done` with its future on the loop's."""
        self._waiting.setdefault(owner, deque()).append((work, done))
        self._start()

    def _start(self) -> None:
        owner = self._next()
        while owner is not None:
            queue = self._waiting.pop(owner)
            work, done = queue.popleft()
            if queue:
                self._waiting[owner] = queue  # behind all others
            self._running[owner] += 1
            self._submit(owner, work, done)
            owner = self._next()

    def _next(self) -> Optional[str]:
        free = self._threads - sum(self._running.values())
        if free <= 0:
            return None
        first = next((owner for owner in self._waiting if not self._running[owner]), None)
        if first is None and free > self._kept_free:
            return next(iter(self._waiting), None)
        return first

    def _submit(self, owner: str, work: Work, done: Done) -> None:
        def ended(future: Future[Any]) -> None:
            self._running[owner] -= 1
            if not self._running[owner]:
                del self._running[owner]
            self._start()
            done(future)

        self._pool.submit(work).add_done_callback(lambda future: self._post(lambda: ended(future)))
