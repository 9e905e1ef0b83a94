"""The orders to stop that the login node writes into the folder of a gang, as the coordinator reads them."""

from __future__ import annotations

import time
from typing import Callable, Dict

from muster.agent.batch.spool import Gang

_READ_EVERY_S = 0.2
_LOOK_EVERY_S = 1.0
"""Looking costs a question to the server of a shared folder, and reading what is not there costs none."""


class StopOrders:
    def __init__(self, gang: Gang, clock: Callable[[], float] = time.monotonic) -> None:
        self._gang = gang
        self._clock = clock
        self._read_at = self._looked_at = float("-inf")

    def read(self) -> Dict[str, float]:
        """The tasks that are to be stopped, with their grace periods; nothing if they have just been read."""
        now = self._clock()
        if now < self._read_at + _READ_EVERY_S:
            return {}
        self._read_at = now
        if now >= self._looked_at + _LOOK_EVERY_S:
            self._looked_at = now
            self._gang.look()
        return self._gang.orders()
