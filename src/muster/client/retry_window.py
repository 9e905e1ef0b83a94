"""How long a transfer waits for a server, or a node behind it, that is away for a moment: restarted, or cut off."""

import time

from muster.client.errors import UNREACHABLE, MusterError
from muster.lib.backoff import exponential

TRIES = 8
"""Without a byte in between; some 20 seconds."""
_UNAVAILABLE = 503


class Patience:
    def __init__(self) -> None:
        self._futile = 0

    def restore(self) -> None:
        """Something was moved."""
        self._futile = 0

    def wait(self, error: MusterError) -> None:
        """Raises the error where waiting does not help, or not any more."""
        self._futile += 1
        if self._futile > TRIES or (error.status != _UNAVAILABLE and error.code != UNREACHABLE):
            raise error
        time.sleep(exponential(self._futile, first_s=0.2, limit_s=5.0))
