"""How much of a large transfer may be on its way over a node's connection at once.

Messages keep their order on a connection, so every other message waits until the pieces before it have passed: at
100 kB/s, 20 s for 2 MiB. The pace is therefore found from how late answers come: other messages should wait for about
half a second, and the connection should never be idle. This module does no IO and starts nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from muster.domain.errors import BackendError, Unreachable

SMALLEST_BYTES = 64 << 10
FIRST_BYTES = 256 << 10
LARGEST_BYTES = 2 << 20
PIECE_BYTES = 256 << 10
BEHIND_S = 0.5
_PIECES = 4
_TRIES = 4
_AGAIN_WITHIN_S = 60.0
Found = TypeVar("Found")


class Pace:
    """The pace of one node in one direction."""

    def __init__(self) -> None:
        self.window = FIRST_BYTES
        """The number of bytes that may be on their way at once."""
        self._unhindered_s = float("inf")
        """How long an answer takes when nothing is before it."""
        self._shrunk_at = float("-inf")
        self._is_answering = True
        """Whether anything was answered since a connection broke."""

    @property
    def piece(self) -> int:
        """The number of bytes in one message, where several are on their way."""
        return min(PIECE_BYTES, self.window // _PIECES)

    async def timed(self, size: int, ask: Callable[[], Awaitable[Found]]) -> Found:
        """Ask, and learn the pace from the answer. The question or the answer has `size` bytes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            answer = await ask()
        except BackendError as error:
            if isinstance(error, Unreachable):
                self.lost(began, loop.time())
            raise
        self.answered(size, began, loop.time())
        return answer

    def answered(self, size: int, asked_at: float, now: float) -> None:
        self._is_answering = True
        took_s = now - asked_at
        # With so little on its way the connection or the node itself is slow: sending less would not help.
        is_smallest = self.window == SMALLEST_BYTES
        self._unhindered_s = took_s if is_smallest else min(self._unhindered_s, took_s)
        behind_s = took_s - self._unhindered_s
        if behind_s > BEHIND_S:
            self._shrink(max(0.5, BEHIND_S / behind_s), asked_at, now)
        elif behind_s < BEHIND_S / 2:
            more = size if self._shrunk_at == float("-inf") else size // _PIECES
            self.window = min(LARGEST_BYTES, self.window + more)

    def lost(self, asked_at: float, now: float) -> None:
        """Less will be lost next time. When a connection breaks before its first answer, the next one begins with as
        little as possible, so that at least that passes."""
        self._shrink(0.5 if self._is_answering else 0.0, asked_at, now)
        self._is_answering = False

    def _shrink(self, by: float, asked_at: float, now: float) -> None:
        if asked_at >= self._shrunk_at:  # an earlier question says nothing about the present window
            self.window = max(SMALLEST_BYTES, int(self.window * by))
            self._shrunk_at = now


async def patiently(step: Callable[[], Awaitable[Found]], position: Callable[[], int] = lambda: 0) -> Found:
    """Try again over the next connection when one breaks before the answer, for as long as `position` grows between
    two tries. This is for steps that may be done twice."""
    loop = asyncio.get_running_loop()
    furthest = position()
    tries_left, until = _TRIES, loop.time() + _AGAIN_WITHIN_S
    while True:
        try:
            return await step()
        except BackendError as error:
            tries_left -= 1
            if position() > furthest:
                furthest = position()
                tries_left, until = _TRIES, loop.time() + _AGAIN_WITHIN_S
            if not isinstance(error, Unreachable) or not tries_left or loop.time() >= until:
                raise
