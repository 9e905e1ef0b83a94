"""How late the event loop is: everything that the server does waits so long for its turn."""

import asyncio
import time
from collections import deque

_EVERY_S = 0.1
_KEPT = 600
"""A minute."""


class LoopDelay:
    """Measures while `run` runs."""

    def __init__(self) -> None:
        self._delays_s: deque[float] = deque(maxlen=_KEPT)

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_EVERY_S)
            self._delays_s.append(max(0.0, time.perf_counter() - began - _EVERY_S))

    @property
    def mean_s(self) -> float:
        """The mean delay over the last minute."""
        return sum(self._delays_s) / len(self._delays_s) if self._delays_s else 0.0

    @property
    def longest_s(self) -> float:
        return max(self._delays_s, default=0.0)
